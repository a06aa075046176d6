import { decodeJsonString, invalidRequest } from './json-text.ts';
import { keyName } from './key-names.ts';

const KEY_BYTES_MAX = 4096;

/** The name of a property, whose bytes may come in several pieces. */
export class JsonKey {
  /** The pieces before the last; undefined where there are none, as nearly always. */
  #pieces: Uint8Array[] | undefined;
  #bytes = 0;

  /** Adds a piece that is not the last. Throws RoutingError where the name becomes too long. */
  add(input: Uint8Array, start: number, end: number): void {
    this.#count(end - start);
    this.#pieces ??= [];
    // Copied, as the key ends in a later chunk.
    this.#pieces.push(input.slice(start, end));
  }

  /** The name, whose last piece this is. Throws RoutingError where it is too long. */
  take(input: Uint8Array, start: number, end: number): string {
    this.#count(end - start);
    this.#bytes = 0;
    if (this.#pieces === undefined) return keyName(input, start, end);
    const name = decodeJsonString([...this.#pieces, input.subarray(start, end)]);
    this.#pieces = undefined;
    return name;
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= KEY_BYTES_MAX) return;
    throw invalidRequest(`the request body has a property name longer than ${KEY_BYTES_MAX} bytes`);
  }
}
