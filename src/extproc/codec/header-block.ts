import { WireReader } from './wire-reader.ts';

/** A HeaderMap as it came, read when asked: of most response headers only the status is ever looked at. */
export class HeaderBlock {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Lower-case names; of a repeated header the last value. Throws RangeError when the bytes are not a HeaderMap. */
  toMap(): ReadonlyMap<string, string> {
    const headers = new Map<string, string>();
    const reader = new WireReader(this.#bytes);
    for (let field = reader.next(); field !== 0; field = reader.next()) {
      if (field === 1) readHeader(reader, headers);
      else reader.skip();
    }
    return headers;
  }

  /** The last value of the header with this lower-case ASCII name, which the proxy has lower-cased already. */
  get(name: string): string | undefined {
    let found: string | undefined;
    const reader = new WireReader(this.#bytes);
    for (let field = reader.next(); field !== 0; field = reader.next()) {
      if (field === 1) found = valueUnder(reader, name) ?? found;
      else reader.skip();
    }
    return found;
  }
}

/** `raw_value` where there is one, else `value`. */
function readHeader(reader: WireReader, into: Map<string, string>): void {
  const outer = reader.enter();
  let name = '';
  let value = '';
  let rawValue = '';
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) name = reader.text();
    else if (field === 2) value = reader.text();
    else if (field === 3) rawValue = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  into.set(name.toLowerCase(), rawValue === '' ? value : rawValue);
}

function valueUnder(reader: WireReader, name: string): string | undefined {
  const outer = reader.enter();
  let matches = false;
  let value = '';
  let rawValue = '';
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) matches = reader.textIs(name);
    // A name comes before its value from every encoder there is, so that values of others need not be made.
    else if (field === 2 && matches) value = reader.text();
    else if (field === 3 && matches) rawValue = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  if (!matches) return undefined;
  return rawValue === '' ? value : rawValue;
}
