import { WireReader } from './wire-reader.ts';

/** An encoded HeaderMap, decoded on demand: of most responses only the status is read. */
export class HeaderBlock {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** By lower-case name, the last value each. Throws RangeError if the bytes are no HeaderMap. */
  toMap(): ReadonlyMap<string, string> {
    const headers = new Map<string, string>();
    const reader = new WireReader(this.#bytes);
    for (let field = reader.next(); field !== 0; field = reader.next()) {
      if (field === 1) readHeader(reader, headers);
      else reader.skip();
    }
    return headers;
  }

  /** The header's last value. `name`: lower-case ASCII, as the proxy sends names. */
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

/** Reads `raw_value` if there is one, otherwise `value`. */
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
    // All encoders write a name before its value, so the values of other headers are skipped.
    else if (field === 2 && matches) value = reader.text();
    else if (field === 3 && matches) rawValue = reader.text();
    else reader.skip();
  }
  reader.leave(outer);
  if (!matches) return undefined;
  return rawValue === '' ? value : rawValue;
}
