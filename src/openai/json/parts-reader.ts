import type { MemberSpan, ObjectIndex } from './json-object.ts';
import { nameStart, WatchedValues } from './watched-values.ts';

const NONE: ReadonlyMap<string, ObjectIndex> = new Map();

/** Finds the parts of a text's outermost value: all of an object, and the first of an array. */
export class PartsReader extends WatchedValues {
  kind: 'object' | 'array' | 'other' = 'other';
  /** Members, or elements: then each name is empty. */
  readonly parts: MemberSpan[] = [];
  /** Before the closing brace or bracket of the outermost value. */
  close = 0;
  readonly #text: Buffer;
  readonly #elementsMax: number;
  readonly #membersMax: number;
  #name = '';
  #nameStart: number | undefined;

  /**
   * An array may have millions of elements: those beyond `elementsMax` are left out. An object with
   * more than `membersMax` counts as none.
   */
  constructor(text: Buffer, elementsMax: number, membersMax: number = Number.POSITIVE_INFINITY) {
    super();
    this.#text = text;
    this.#elementsMax = elementsMax;
    this.#membersMax = membersMax;
    this.watched = 1;
  }

  /** Where the members are, if it is an object. */
  get index(): ObjectIndex {
    const { close, parts } = this;
    return { start: 0, close, end: this.#text.length, members: parts, inner: NONE };
  }

  key(name: string, end: number): void {
    if (this.depth !== 1) return;
    this.#name = name;
    this.#nameStart = nameStart(this.#text, end);
  }

  protected onOpen(kind: 'object' | 'array'): void {
    if (this.depth === 1) this.kind = kind;
  }

  protected onClose(end: number): void {
    if (this.depth === 1) this.close = end - 1;
  }

  protected onValue(end: number): void {
    if (this.kind === 'array' && this.parts.length >= this.#elementsMax) return;
    if (this.kind === 'object' && this.parts.length >= this.#membersMax) this.kind = 'other';
    if (this.kind === 'other') return;
    const { valueStart } = this;
    const start = this.#nameStart ?? valueStart;
    this.parts.push({ name: this.#name, start, valueStart, end });
  }
}
