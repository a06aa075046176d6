import { JsonObject, type MemberSpan, type ObjectIndex } from '../../openai/json/json-object.ts';
import { nameStart, WatchedValues } from '../../openai/json/watched-values.ts';
import { Refusal } from './refusal.ts';

/**
 * Bounds the memory of the body's parts: an empty array takes 2 bytes of text and 16 of memory, and
 * a member with a short name 6 and 100.
 */
const PARTS_MAX = 500_000;
/** Each takes about 100 bytes as long as its request does; no API has so many. */
const INDEXED_MAX = 1_000;
/** Objects in a body that engines read parameters from. */
const NESTED: ReadonlySet<string> = new Set(['sampling_params', 'extra_args', 'vllm_xargs']);
/** An object in a body that the sidecar reads, too. */
const ALSO_READ = 'stream_options';

/** Bytes of the text, from `start` to before `end`. */
interface Cut {
  readonly start: number;
  end: number;
}

/** An open object whose members are read. */
interface OpenObject {
  /** How many objects and arrays are open within the text, with this one. */
  readonly depth: number;
  /** Whether engines read parameters from it. */
  readonly hasParameters: boolean;
  /** The offset behind the opening brace. */
  readonly start: number;
  /** The name of its last member. */
  name: string;
  /** The offset behind its last whole member, and at first behind the brace. */
  behind: number;
  /** Whether a member before stays. */
  keepsOne: boolean;
  /** The offset of its brace in the text that stays. */
  readonly from: number;
  nameFrom: number;
  /** Where the value begins that is read, if it is an object or an array. */
  valueFrom: number | undefined;
  readonly members: MemberSpan[];
  readonly inner: Map<string, ObjectIndex>;
}

function opened(at: Pick<OpenObject, 'depth' | 'hasParameters' | 'start' | 'from'>): OpenObject {
  const nothing = { name: '', keepsOne: false, nameFrom: 0, valueFrom: undefined };
  return { ...at, ...nothing, behind: at.start, members: [], inner: new Map() };
}

const NOWHERE = opened({ depth: -1, hasParameters: false, start: 0, from: 0 });

/**
 * Counts the parts of a JSON text, finds the bytes of the parameters that only the sidecar may set,
 * and where the members of the text without them are, in one pass: a pass over a long body takes
 * seconds.
 */
export class ParameterReader extends WatchedValues {
  /** Whether the outermost value is an object. */
  isObject = false;
  readonly #text: Buffer;
  readonly #reserved: ReadonlySet<string>;
  readonly #cuts: Cut[] = [];
  #cutBytes = 0;
  readonly #around: OpenObject[] = [];
  #in = NOWHERE;
  /** The object that has just ended. */
  #ended: ObjectIndex | undefined;
  #parts = 0;
  #indexed = 0;

  constructor(text: Buffer, reserved: ReadonlySet<string>) {
    super();
    this.#text = text;
    this.#reserved = reserved;
    this.watched = NOWHERE.depth;
  }

  /**
   * The text without reserved parameters, once all of it has been read, in pieces: itself without
   * any.
   */
  rest(): readonly Buffer[] {
    if (this.#cuts.length === 0) return [this.#text];
    let from = 0;
    const pieces = this.#cuts.map(({ start, end }) => {
      const piece = this.#text.subarray(from, start);
      from = end;
      return piece;
    });
    return [...pieces, this.#text.subarray(from)];
  }

  /**
   * The object in the bytes of `rest`; undefined for another value, and where the objects that are read have
   * more than 1,000 members.
   */
  objectIn(rest: Buffer): JsonObject | undefined {
    const index = this.#ended;
    if (index === undefined || this.#indexed > INDEXED_MAX) return undefined;
    return new JsonObject(rest, { ...index, start: 0, end: rest.length });
  }

  key(name: string, end: number): void {
    this.#count();
    const inside = this.#in;
    if (this.depth !== inside.depth) return;
    inside.name = name;
    if (this.#isReserved(inside)) return;
    const { start, behind } = inside;
    // The comma behind the last of those that are cut from the beginning on.
    if (!inside.keepsOne && behind > start) this.#cut(behind, this.#text.indexOf(0x2c, behind) + 1);
    inside.keepsOne = true;
    inside.nameFrom = this.#kept(nameStart(this.#text, end));
  }

  protected onOpen(kind: 'object' | 'array', end: number): void {
    this.#count();
    const inside = this.#in;
    const isMember = this.depth - 1 === inside.depth;
    const from = this.#kept(end - 1);
    if (isMember) inside.valueFrom = from;
    if (kind === 'array') return;
    const isOutermost = this.depth === 1;
    if (isOutermost) this.isObject = true;
    const isNested = isMember && inside.hasParameters;
    const hasParameters = isOutermost || (isNested && NESTED.has(inside.name));
    if (!hasParameters && !(isNested && inside.name === ALSO_READ)) return;
    this.#around.push(inside);
    this.#enter(opened({ depth: this.depth, hasParameters, start: end, from }));
  }

  protected onClose(end: number): void {
    const { depth, from, members, inner } = this.#in;
    if (this.depth !== depth) return;
    this.#ended = { start: from, close: this.#kept(end - 1), end: this.#kept(end), members, inner };
    this.#enter(this.#around.pop() ?? NOWHERE);
  }

  protected onValue(end: number): void {
    const inside = this.#in;
    if (this.#isReserved(inside)) this.#cut(inside.behind, end);
    else this.#addMember(inside, end);
    inside.behind = end;
    inside.valueFrom = undefined;
    this.#ended = undefined;
  }

  #addMember({ name, nameFrom, valueFrom, members, inner }: OpenObject, end: number): void {
    this.#indexed += 1;
    if (this.#indexed > INDEXED_MAX) return;
    const valueStart = valueFrom ?? this.#kept(this.valueStart);
    members.push({ name, start: nameFrom, valueStart, end: this.#kept(end) });
    // The last of a name counts.
    if (this.#ended === undefined) inner.delete(name);
    else inner.set(name, this.#ended);
  }

  #isReserved({ hasParameters, name }: OpenObject): boolean {
    return hasParameters && this.#reserved.has(name);
  }

  #enter(object: OpenObject): void {
    this.#in = object;
    this.watched = object.depth;
  }

  /** Where a byte is in the text that stays, once all cuts before it have been made. */
  #kept(at: number): number {
    return at - this.#cutBytes;
  }

  #cut(start: number, end: number): void {
    this.#cutBytes += end - start;
    const last = this.#cuts.at(-1);
    if (last?.end === start) last.end = end;
    else this.#cuts.push({ start, end });
  }

  #count(): void {
    this.#parts += 1;
    if (this.#parts <= PARTS_MAX) return;
    throw new Refusal(400, `the body has more than ${PARTS_MAX} objects, arrays and names`);
  }
}
