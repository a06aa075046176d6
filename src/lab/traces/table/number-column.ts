/** Rows of a chunk. A column that grows by chunks copies nothing, and is never much too large. */
const CHUNK_BITS = 16;
const CHUNK_ROWS = 2 ** CHUNK_BITS;
const ROW_MASK = CHUNK_ROWS - 1;
/** The first chunk grows from here on: most traces of tests and examples have few requests. */
const ROWS_AT_FIRST = 64;

type Chunk = Float64Array | Uint32Array | Uint8Array;
type ChunkOf = new (rows: number) => Chunk;

/** Numbers by row. A row without one has `empty`; a chunk of such rows takes no memory. */
export class NumberColumn {
  readonly #make: ChunkOf;
  readonly #empty: number;
  readonly #chunks: (Chunk | undefined)[] = [];

  constructor(make: ChunkOf, empty = 0) {
    this.#make = make;
    this.#empty = empty;
  }

  get(row: number): number {
    return this.#chunks[row >>> CHUNK_BITS]?.[row & ROW_MASK] ?? this.#empty;
  }

  set(row: number, value: number): void {
    const at = row >>> CHUNK_BITS;
    const place = row & ROW_MASK;
    let chunk = this.#chunks[at];
    if (chunk === undefined || place >= chunk.length) {
      if (Object.is(value, this.#empty)) return;
      chunk = this.#grown(at, place);
    }
    chunk[place] = value;
  }

  #grown(at: number, place: number): Chunk {
    const before = this.#chunks[at];
    let rows = at > 0 ? CHUNK_ROWS : ROWS_AT_FIRST;
    while (rows <= place) rows *= 2;
    const chunk = new this.#make(rows);
    if (this.#empty !== 0) chunk.fill(this.#empty);
    if (before !== undefined) chunk.set(before);
    while (this.#chunks.length < at) this.#chunks.push(undefined);
    this.#chunks[at] = chunk;
    return chunk;
  }
}
