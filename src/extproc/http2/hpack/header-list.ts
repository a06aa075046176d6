import { type HeaderField, NEEDED_PSEUDO } from './header-field.ts';

export interface DecodedHeaders {
  /**
   * By name, in lower case, pseudo headers with their colon; the values of a repeated name are
   * joined with ', '. Where there is a fault, these are those fields that came before the bound.
   */
  readonly fields: ReadonlyMap<string, string>;
  /**
   * Why the stream is refused, though the connection goes on: the list is past its bound, or is
   * none that a request may have (RFC 9113, 8.2 and 8.3).
   */
  readonly fault: 'too-large' | 'malformed' | undefined;
}

/** Whether a block is the head of a request or its trailers. */
export type BlockKind = 'head' | 'trailers';

/** Collects the fields of one block, and judges them as a request's headers or trailers. */
export class HeaderList {
  readonly #bytesMax: number;
  readonly #kind: BlockKind;
  readonly #fields = new Map<string, string>();
  #bytes = 0;
  #malformed = false;
  /** The bits of the pseudo headers that have come. */
  #pseudo = 0;
  #pseudoMayCome: boolean;

  constructor(bytesMax: number, kind: BlockKind) {
    this.#bytesMax = bytesMax;
    this.#kind = kind;
    this.#pseudoMayCome = kind === 'head';
  }

  add(field: HeaderField): void {
    this.#bytes += field.bytes;
    if (this.#bytes > this.#bytesMax) return;
    if (!field.allowed) this.#malformed = true;
    if (field.pseudo === 0) this.#pseudoMayCome = false;
    else this.#addPseudo(field.pseudo);
    const before = this.#fields.get(field.name);
    const value = before === undefined ? field.value : `${before}, ${field.value}`;
    this.#fields.set(field.name, value);
  }

  result(): DecodedHeaders {
    return { fields: this.#fields, fault: this.#fault() };
  }

  /** A pseudo header comes once, before all other fields. */
  #addPseudo(bit: number): void {
    if (!this.#pseudoMayCome || (this.#pseudo & bit) !== 0) this.#malformed = true;
    this.#pseudo |= bit;
  }

  #fault(): DecodedHeaders['fault'] {
    if (this.#bytes > this.#bytesMax) return 'too-large';
    const complete = this.#kind === 'trailers' || (this.#pseudo & NEEDED_PSEUDO) === NEEDED_PSEUDO;
    return this.#malformed || !complete ? 'malformed' : undefined;
  }
}
