/** A longer line cannot be a token of an answer, so no memory is kept for it. */
const LINE_BYTES_MAX = 1024 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const PREFIX = Buffer.from('data:');
const SPACE = 0x20;
const NOTHING = Buffer.alloc(0);

/** Passes on the text of each `data:` line of server-sent events, which come in pieces. */
export class EventLines {
  readonly #onData: (data: Buffer) => void;
  #rest: Buffer = NOTHING;

  constructor(onData: (data: Buffer) => void) {
    this.#onData = onData;
  }

  /** Throws if a line is too long. The `data` passed to `onData` is valid during that call only. */
  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#line(bytes.subarray(from, bytes[end - 1] === RETURN ? end - 1 : end));
      from = end + 1;
    }
    if (bytes.length - from > LINE_BYTES_MAX) {
      throw new Error(`a line of the answer has more than ${LINE_BYTES_MAX} bytes`);
    }
    // A copy, because the chunk's memory goes back to the socket.
    this.#rest = from === bytes.length ? NOTHING : Buffer.from(bytes.subarray(from));
  }

  #line(line: Buffer): void {
    if (line.length < PREFIX.length || PREFIX.compare(line, 0, PREFIX.length) !== 0) return;
    this.#onData(line.subarray(line[PREFIX.length] === SPACE ? PREFIX.length + 1 : PREFIX.length));
  }
}
