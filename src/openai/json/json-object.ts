import { joinedPieces } from '../../framework/values/joined-pieces.ts';
/** Where a member of an object is in its text. */
export interface MemberSpan {
  readonly name: string;
  /** Where the name begins, with its quote. */
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/** Where an object and its members are in a text. */
export interface ObjectIndex {
  readonly start: number;
  /** Before the closing brace. */
  readonly close: number;
  readonly end: number;
  /** In their order. */
  readonly members: readonly MemberSpan[];
  /** The members that are objects whose own members are known, too. */
  readonly inner: ReadonlyMap<string, ObjectIndex>;
}

/** A JSON text, also in pieces. */
type JsonText = Buffer | string | JsonObject | readonly Buffer[];
/** JSON texts by the names of members; undefined removes the member. */
export type MemberEdits = Readonly<Record<string, JsonText | undefined>>;

type Edits = ReadonlyMap<string, MemberEdits[string]>;
const NO_EDITS: Edits = new Map();

/**
 * An object of a JSON text that has been read, with edits of some members. Nothing here reads the
 * text again, however long it is; only `bytes` copies it, and not `pieces`.
 */
export class JsonObject {
  static readonly EMPTY: JsonObject = new JsonObject(Buffer.from('{}'), {
    start: 0,
    close: 1,
    end: 2,
    members: [],
    inner: new Map(),
  });

  readonly #text: Buffer;
  readonly #index: ObjectIndex;
  readonly #edits: Edits;

  constructor(text: Buffer, index: ObjectIndex, edits: Edits = NO_EDITS) {
    this.#text = text;
    this.#index = index;
    this.#edits = edits;
  }

  /** The text: the bytes that were read where no edit changes them, else a copy. */
  get bytes(): Buffer {
    return joinedPieces(this.pieces);
  }

  /** The text in pieces: those that were read, and the edits between them. */
  get pieces(): readonly Buffer[] {
    if (this.#isChanged) return [...this.#pieces()];
    const { start, end } = this.#index;
    const isWhole = start === 0 && end === this.#text.length;
    return [isWhole ? this.#text : this.#text.subarray(start, end)];
  }

  /** The bytes of the last member of this name, which JSON readers take; undefined without one. */
  member(name: string): Buffer | undefined {
    if (this.#edits.has(name)) return bytesOf(this.#edits.get(name));
    const found = this.#index.members.findLast((each) => each.name === name);
    return found && this.#text.subarray(found.valueStart, found.end);
  }

  /** Names and bytes of all members as they were read, in their order. */
  get entries(): readonly (readonly [name: string, value: Buffer])[] {
    return this.#index.members.map(({ name, valueStart, end }) => [
      name,
      this.#text.subarray(valueStart, end),
    ]);
  }

  /** Whether the last member of this name is this literal: `true`, `false` or `null`. */
  is(name: string, literal: string): boolean {
    return this.member(name)?.equals(Buffer.from(literal)) === true;
  }

  /** The number that the last member of this name is; undefined for anything else. */
  number(name: string): number | undefined {
    const found = this.member(name);
    return NUMBER_BEGINS.has(found?.[0]) ? Number(found?.toString('latin1')) : undefined;
  }

  /** The last member of this name, if it is an object whose members are known. */
  object(name: string): JsonObject | undefined {
    const edit = this.#edits.get(name);
    if (edit instanceof JsonObject) return edit;
    const inner = this.#edits.has(name) ? undefined : this.#index.inner.get(name);
    return inner && new JsonObject(this.#text, inner);
  }

  /**
   * With some members set or removed; every other byte is as it was. Where a name occurs several
   * times, each occurrence is set, so it does not matter which one a reader takes. A name that does
   * not occur is added at the end. One that has been removed is set at its place.
   */
  with(edits: MemberEdits): JsonObject {
    return new JsonObject(
      this.#text,
      this.#index,
      new Map([...this.#edits, ...Object.entries(edits)]),
    );
  }

  get #isChanged(): boolean {
    const { members } = this.#index;
    return this.#added().length > 0 || members.some(({ name }) => this.#edits.has(name));
  }

  #added(): readonly (readonly [name: string, value: MemberEdits[string]])[] {
    if (this.#edits.size === 0) return [];
    const names = new Set(this.#index.members.map(({ name }) => name));
    return [...this.#edits].filter(([name, value]) => value !== undefined && !names.has(name));
  }

  *#pieces(): Generator<Buffer> {
    const { start, end, close, members } = this.#index;
    let from = start;
    let kept = 0;
    for (const [at, { name, ...span }] of members.entries()) {
      const edit = this.#edits.get(name);
      if (edit === undefined && this.#edits.has(name)) {
        // With the comma before it; before the first that stays, with the comma behind it.
        yield this.#text.subarray(from, kept > 0 ? members[at - 1]?.end : span.start);
        from = kept > 0 ? span.end : (members[at + 1]?.start ?? span.end);
        continue;
      }
      kept += 1;
      if (edit === undefined) continue;
      yield this.#text.subarray(from, span.valueStart);
      yield* piecesOf(edit);
      from = span.end;
    }
    const behind = members.at(-1)?.end ?? close;
    yield this.#text.subarray(from, behind);
    for (const [name, value] of this.#added()) {
      yield Buffer.from(`${kept > 0 ? ',' : ''}${JSON.stringify(name)}:`);
      if (value !== undefined) yield* piecesOf(value);
      kept += 1;
    }
    yield this.#text.subarray(behind, end);
  }
}

/** How numbers of JSON begin: a minus or a digit. */
const NUMBER_BEGINS: ReadonlySet<number | undefined> = new Set(Buffer.from('-0123456789'));

function bytesOf(edit: MemberEdits[string]): Buffer | undefined {
  return edit === undefined ? undefined : joinedPieces(piecesOf(edit));
}

function piecesOf(edit: JsonText): readonly Buffer[] {
  if (edit instanceof JsonObject) return edit.pieces;
  if (typeof edit === 'string') return [Buffer.from(edit)];
  return Buffer.isBuffer(edit) ? [edit] : edit;
}
