import { NO_RECORD, Records } from './records.ts';

/** Blocks of a segment. */
export const SEGMENT_BLOCKS = 4;
/** Fields: the next segment, the low words of its blocks, and their high words, two in a field. */
const NEXT = 0;
const LOW = 1;
const HIGH = LOW + SEGMENT_BLOCKS;
const FIELDS = HIGH + SEGMENT_BLOCKS / 2;

const HIGH_BITS = 16;
const HIGH_MASK = 0xffff;

/** The part of a block's high word that distinguishes blocks, beside its low word. */
export function highOf(words: Uint32Array, block: number): number {
  return (words[2 * block + 1] as number) & HIGH_MASK;
}

/**
 * Hashes of blocks that follow each other, in chains of segments of four blocks: 7 bytes a block. A
 * place counts from the first block of a chain's first segment.
 */
export class RunBlocks {
  readonly #segments = new Records(FIELDS);

  get bytes(): number {
    return this.#segments.bytes;
  }

  low(segment: number, place: number): number {
    return this.#segments.get(segment, LOW + (place % SEGMENT_BLOCKS));
  }

  high(segment: number, place: number): number {
    const at = place % SEGMENT_BLOCKS;
    const both = this.#segments.get(segment, HIGH + (at >> 1));
    return (both >>> (HIGH_BITS * (at & 1))) & HIGH_MASK;
  }

  /** The segment of this chain that has the place. */
  segmentAt(first: number, place: number): number {
    let segment = first;
    for (let left = Math.floor(place / SEGMENT_BLOCKS); left > 0; left--) {
      segment = this.#segments.get(segment, NEXT);
    }
    return segment;
  }

  /**
   * How many blocks of `words` from `from` on, up to `to`, are those of the chain from this place
   * on. Hashes depend on all blocks before them, so that only the last one of a segment is
   * compared.
   */
  matching(first: number, place: number, words: Uint32Array, from: number, to: number): number {
    let segment = first;
    let at = place;
    let block = from;
    while (block < to) {
      const last = Math.min(to - block, SEGMENT_BLOCKS - at) - 1;
      if (!this.#isAt(segment, at + last, words, block + last)) {
        while (this.#isAt(segment, at, words, block)) {
          at += 1;
          block += 1;
        }
        return block - from;
      }
      block += last + 1;
      at = 0;
      segment = this.#segments.get(segment, NEXT);
    }
    return block - from;
  }

  /** Writes hashes from this place of a chain on into `words`, as blocks from `from` up to `to`. */
  read(
    first: number,
    place: number,
    words: Uint32Array,
    { from, to }: { readonly from: number; readonly to: number },
  ): void {
    let segment = first;
    for (let block = from, at = place; block < to; block++, at++) {
      words[2 * block] = this.low(segment, at);
      words[2 * block + 1] = this.high(segment, at);
      if (at % SEGMENT_BLOCKS === SEGMENT_BLOCKS - 1) segment = this.#segments.get(segment, NEXT);
    }
  }

  /**
   * Puts blocks from `from` up to `to` of `words` at this place of a chain, behind all that is
   * there. Returns the chain's first segment.
   */
  append(first: number, place: number, words: Uint32Array, from: number, to: number): number {
    const segments = this.#segments;
    let head = first;
    let segment = first === NO_RECORD ? NO_RECORD : this.segmentAt(first, place - 1);
    let at = place % SEGMENT_BLOCKS;
    for (let block = from; block < to; block++) {
      if (at === 0) {
        const next = segments.take();
        segments.set(next, NEXT, NO_RECORD);
        if (segment === NO_RECORD) head = next;
        else segments.set(segment, NEXT, next);
        segment = next;
      }
      this.#write(segment, at, words, block);
      at = (at + 1) % SEGMENT_BLOCKS;
    }
    return head;
  }

  /** Frees a chain's segments behind the one with this place, which becomes its last. */
  cutAfter(first: number, place: number): void {
    const last = this.segmentAt(first, place);
    this.free(this.#segments.get(last, NEXT));
    this.#segments.set(last, NEXT, NO_RECORD);
  }

  /**
   * Ends a chain at place `end`, and returns the first segment of what begins at place `start`,
   * which is `end` or later and in the chain. Where both are in one segment, what begins gets a
   * copy.
   */
  cutOut(first: number, end: number, start: number): number {
    const segments = this.#segments;
    const from = Math.floor(start / SEGMENT_BLOCKS);
    const kept = Math.ceil(end / SEGMENT_BLOCKS);
    if (kept === 0) return this.#dropFirst(first, from);
    const last = this.segmentAt(first, end - 1);
    const behind = segments.get(last, NEXT);
    segments.set(last, NEXT, NO_RECORD);
    if (from >= kept) return this.#dropFirst(behind, from - kept);
    const copy = segments.take();
    segments.copy(last, copy);
    segments.set(copy, NEXT, behind);
    return copy;
  }

  /** Frees a chain. */
  free(first: number): void {
    let segment = first;
    while (segment !== NO_RECORD) {
      const next = this.#segments.get(segment, NEXT);
      this.#segments.release(segment);
      segment = next;
    }
  }

  #dropFirst(first: number, count: number): number {
    let segment = first;
    for (let left = count; left > 0; left--) {
      const next = this.#segments.get(segment, NEXT);
      this.#segments.release(segment);
      segment = next;
    }
    return segment;
  }

  #isAt(segment: number, at: number, words: Uint32Array, block: number): boolean {
    const low = this.#segments.get(segment, LOW + at);
    return (
      low === (words[2 * block] as number) >> 0 && this.high(segment, at) === highOf(words, block)
    );
  }

  #write(segment: number, at: number, words: Uint32Array, block: number): void {
    const field = HIGH + (at >> 1);
    const shift = HIGH_BITS * (at & 1);
    const others = this.#segments.get(segment, field) & ~(HIGH_MASK << shift);
    this.#segments.set(segment, LOW + at, words[2 * block] as number);
    this.#segments.set(segment, field, others | (highOf(words, block) << shift));
  }
}
