export interface HttpMessage {
  /** Start line and headers, without the empty line. */
  readonly head: string;
  readonly bodyBytes: number;
  /** Chunks of a chunked body; 0 where the body is not chunked. */
  readonly pieces: number;
}

const HEAD_END = Buffer.from('\r\n\r\n');
const HEAD_BYTES_MAX = 64 * 1024;
const LINE_CHARS_MAX = 1024;

type State = 'head' | 'sized' | 'size-line' | 'piece' | 'piece-end' | 'trailers';

/**
 * Finds the ends of HTTP/1.1 messages (requests or answers) on one connection, and keeps no bodies.
 * It does as little work as possible, because the load generator shares two cores with the server
 * that it measures. Throws on bytes that it cannot read.
 */
export class HttpReader {
  readonly #onMessage: (message: HttpMessage) => void;
  #state: State = 'head';
  #head = '';
  #line = '';
  #left = 0;
  #bodyBytes = 0;
  #pieces = 0;

  constructor(onMessage: (message: HttpMessage) => void) {
    this.#onMessage = onMessage;
  }

  /** Chunks so far of the body that is being read; 0 between two messages. */
  get piecesSoFar(): number {
    return this.#pieces;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      switch (this.#state) {
        case 'head':
          at = this.#readHead(chunk, at);
          break;
        case 'sized':
        case 'piece':
          at = this.#skipBody(chunk, at);
          break;
        case 'size-line':
        case 'piece-end':
        case 'trailers':
          at = this.#readLine(chunk, at);
          break;
      }
    }
  }

  #readHead(chunk: Buffer, at: number): number {
    // The end may lie across two chunks, so the new part is searched with the text before it.
    const found = this.#head === '' ? chunk.indexOf(HEAD_END, at) : -1;
    if (found !== -1) {
      this.#begin(chunk.toString('latin1', at, found));
      return found + HEAD_END.length;
    }
    const before = this.#head.length;
    this.#head += chunk.toString('latin1', at);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end === -1) {
      if (this.#head.length > HEAD_BYTES_MAX) throw new Error('HTTP head over 64 KiB');
      return chunk.length;
    }
    const head = this.#head.slice(0, end);
    this.#begin(head);
    return at + end + HEAD_END.length - before;
  }

  #begin(head: string): void {
    this.#head = head;
    this.#bodyBytes = 0;
    this.#pieces = 0;
    const fields = head.toLowerCase();
    if (fields.includes('\r\ntransfer-encoding: chunked')) {
      this.#state = 'size-line';
      return;
    }
    const length = /\r\ncontent-length: *(\d+)/.exec(fields)?.[1];
    this.#left = Number(length ?? 0);
    this.#state = 'sized';
    if (this.#left === 0) this.#finish();
  }

  #skipBody(chunk: Buffer, at: number): number {
    const taken = Math.min(this.#left, chunk.length - at);
    this.#left -= taken;
    this.#bodyBytes += taken;
    if (this.#left === 0) {
      if (this.#state === 'sized') this.#finish();
      else this.#state = 'piece-end';
    }
    return at + taken;
  }

  #readLine(chunk: Buffer, at: number): number {
    const newline = chunk.indexOf(10, at);
    const end = newline === -1 ? chunk.length : newline + 1;
    this.#line += chunk.toString('latin1', at, end);
    if (newline === -1) {
      if (this.#line.length > LINE_CHARS_MAX) throw new Error('HTTP chunk line over 1 KiB');
      return end;
    }
    const line = this.#line.trimEnd();
    this.#line = '';
    if (this.#state === 'piece-end') this.#state = 'size-line';
    else if (this.#state === 'trailers') {
      if (line === '') this.#finish();
    } else this.#beginPiece(line);
    return end;
  }

  #beginPiece(line: string): void {
    this.#left = Number.parseInt(line, 16);
    if (Number.isNaN(this.#left)) throw new Error(`HTTP chunk size ${JSON.stringify(line)}`);
    if (this.#left > 0) this.#pieces += 1;
    this.#state = this.#left === 0 ? 'trailers' : 'piece';
  }

  #finish(): void {
    const message = { head: this.#head, bodyBytes: this.#bodyBytes, pieces: this.#pieces };
    this.#head = '';
    this.#pieces = 0;
    this.#state = 'head';
    this.#onMessage(message);
  }
}
