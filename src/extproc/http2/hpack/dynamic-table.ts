import type { HeaderField } from './header-field.ts';

/** The fewest bytes that a field counts for. */
const FIELD_BYTES_MIN = 32;

/** The newest fields of a connection that fit into a number of bytes (RFC 7541, 2.3.2). */
export class DynamicTable {
  /** A ring, as long as a power of two, with room for the most fields that can fit. */
  readonly #ring: (HeaderField | undefined)[];
  readonly #mask: number;
  /** Where the next field goes; the newest one stands before it. */
  #next = 0;
  #count = 0;
  #bytes = 0;
  #bytesMax: number;

  /** `capacityBytes` bounds `resize`; `bytesMax` holds until then. */
  constructor(capacityBytes: number, bytesMax: number) {
    const slots = 2 ** Math.ceil(Math.log2(Math.max(capacityBytes / FIELD_BYTES_MIN, 1)));
    this.#ring = Array.from({ length: slots });
    this.#mask = slots - 1;
    this.#bytesMax = bytesMax;
  }

  /** The newest field has index 0. */
  at(index: number): HeaderField | undefined {
    return index < this.#count ? this.#ring[(this.#next - 1 - index) & this.#mask] : undefined;
  }

  /** A field that is larger than the table empties it. */
  add(field: HeaderField): void {
    this.#evict(this.#bytesMax - field.bytes);
    if (field.bytes > this.#bytesMax) return;
    this.#ring[this.#next] = field;
    this.#next = (this.#next + 1) & this.#mask;
    this.#count++;
    this.#bytes += field.bytes;
  }

  resize(bytesMax: number): void {
    this.#bytesMax = bytesMax;
    this.#evict(bytesMax);
  }

  #evict(bytesLeft: number): void {
    while (this.#bytes > bytesLeft && this.#count > 0) {
      const oldest = (this.#next - this.#count) & this.#mask;
      this.#bytes -= this.#ring[oldest]?.bytes ?? 0;
      this.#ring[oldest] = undefined;
      this.#count--;
    }
  }
}
