import { BlockReader } from './block-reader.ts';
import { DynamicTable } from './dynamic-table.ts';
import { type HeaderField, headerField } from './header-field.ts';
import { type BlockKind, type DecodedHeaders, HeaderList } from './header-list.ts';
import { HpackError } from './hpack-error.ts';
import { STATIC_TABLE } from './static-table.ts';

export { type DecodedHeaders, HpackError };

/** The table that a peer may use before it has read the settings. */
const FIRST_TABLE_BYTES = 4096;

/** The first byte of a representation says of which kind it is (RFC 7541, 6). */
const INDEXED = 0x80;
const LITERAL_WITH_INDEXING = 0x40;
const TABLE_SIZE = 0x20;
const INDEXED_BITS = 7;
const WITH_INDEXING_BITS = 6;
const TABLE_SIZE_BITS = 5;
const WITHOUT_INDEXING_BITS = 4;

/** Longer blocks are not compared with the one before. */
const KEPT_BLOCK_BYTES_MAX = 256;

/** Decodes the header blocks of one connection, in the order in which they come (RFC 7541). */
export class HeaderDecoder {
  readonly #tableBytesMax: number;
  readonly #listBytesMax: number;
  readonly #table: DynamicTable;
  #tableChanged = false;
  /**
   * Envoy sends the same block for request after request, with the path as a literal each time. The
   * last block, if it left the table as it was, means the same when it comes again.
   */
  readonly #keptBlock = new Uint8Array(KEPT_BLOCK_BYTES_MAX);
  #keptBytes = 0;
  #keptKind: BlockKind = 'head';
  #kept: DecodedHeaders | undefined;

  /**
   * `tableBytesMax` is the SETTINGS_HEADER_TABLE_SIZE of this side; less than 4096 counts as 4096,
   * which a peer may use before it has read the settings. `listBytesMax` bounds a list, as RFC
   * 9113, 6.5.2, counts.
   */
  constructor(limits: { readonly tableBytesMax: number; readonly listBytesMax: number }) {
    this.#tableBytesMax = Math.max(limits.tableBytesMax, FIRST_TABLE_BYTES);
    this.#listBytesMax = limits.listBytesMax;
    this.#table = new DynamicTable(this.#tableBytesMax, FIRST_TABLE_BYTES);
  }

  /**
   * Reads a complete block of headers or trailers. The result uses none of the block's memory, and
   * equal blocks may share one. Throws HpackError; no further block can be decoded then.
   */
  decode(block: Uint8Array, kind: BlockKind = 'head'): DecodedHeaders {
    if (this.#kept !== undefined && this.#isKept(block, kind)) return this.#kept;
    const list = new HeaderList(this.#listBytesMax, kind);
    this.#tableChanged = false;
    const bytes = Buffer.isBuffer(block)
      ? block
      : Buffer.from(block.buffer, block.byteOffset, block.byteLength);
    this.#decodeInto(list, new BlockReader(bytes));
    const headers = list.result();
    this.#keep(block, kind, headers);
    return headers;
  }

  #decodeInto(list: HeaderList, reader: BlockReader): void {
    while (!reader.done && isTableSize(reader.first)) this.#resize(reader.integer(TABLE_SIZE_BITS));
    while (!reader.done) {
      const first = reader.first;
      if (first >= INDEXED) {
        list.add(this.#fieldAt(reader.integer(INDEXED_BITS)));
      } else if (first >= LITERAL_WITH_INDEXING) {
        const field = this.#literal(reader, WITH_INDEXING_BITS);
        this.#table.add(field);
        this.#tableChanged = true;
        list.add(field);
      } else if (isTableSize(first)) {
        throw new HpackError('a table size comes after a field');
      } else {
        list.add(this.#literal(reader, WITHOUT_INDEXING_BITS));
      }
    }
  }

  #literal(reader: BlockReader, indexBits: number): HeaderField {
    const index = reader.integer(indexBits);
    const name = index === 0 ? reader.string() : this.#fieldAt(index).name;
    return headerField(name, reader.string());
  }

  #fieldAt(index: number): HeaderField {
    const field =
      index <= STATIC_TABLE.length
        ? STATIC_TABLE[index - 1]
        : this.#table.at(index - STATIC_TABLE.length - 1);
    if (field === undefined) throw new HpackError(`no field has index ${index}`);
    return field;
  }

  #resize(bytesMax: number): void {
    if (bytesMax > this.#tableBytesMax) {
      throw new HpackError(`a table size of ${bytesMax} is larger than ${this.#tableBytesMax}`);
    }
    this.#table.resize(bytesMax);
    this.#tableChanged = true;
  }

  #isKept(block: Uint8Array, kind: BlockKind): boolean {
    if (block.length !== this.#keptBytes || kind !== this.#keptKind) return false;
    for (let at = 0; at < block.length; at++) {
      if (block[at] !== this.#keptBlock[at]) return false;
    }
    return true;
  }

  #keep(block: Uint8Array, kind: BlockKind, headers: DecodedHeaders): void {
    const fits = !this.#tableChanged && block.length <= KEPT_BLOCK_BYTES_MAX;
    this.#kept = fits ? headers : undefined;
    if (!fits) return;
    this.#keptBlock.set(block);
    this.#keptBytes = block.length;
    this.#keptKind = kind;
  }
}

function isTableSize(first: number): boolean {
  return (first & 0xe0) === TABLE_SIZE;
}
