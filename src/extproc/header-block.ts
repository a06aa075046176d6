import { WireReader } from './wire-reader.ts';

/** A HeaderMap as it came, read when asked: most response headers are never looked at. */
export class HeaderBlock {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Lower-case names; of a repeated header the last value. */
  toMap(): ReadonlyMap<string, string> {
    const headers = new Map<string, string>();
    const reader = new WireReader(this.#bytes);
    for (let field = reader.next(); field !== 0; field = reader.next()) {
      if (field === 1) readHeader(reader.bytes(), headers);
      else reader.skip();
    }
    return headers;
  }
}

/** `raw_value` where there is one, else `value`. */
function readHeader(bytes: Buffer, into: Map<string, string>): void {
  const reader = new WireReader(bytes);
  let name = '';
  let value = '';
  let rawValue = '';
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) name = reader.text();
    else if (field === 2) value = reader.text();
    else if (field === 3) rawValue = reader.text();
    else reader.skip();
  }
  into.set(name.toLowerCase(), rawValue === '' ? value : rawValue);
}
