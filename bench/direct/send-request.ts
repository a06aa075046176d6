import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { openRawStream } from '../support/ext-proc-frames.ts';
import type { PreparedRequest } from './requests.ts';

/** The head of a gRPC frame: a byte of flags and the length of the message. */
const HEAD_BYTES = 5;

/**
 * Has a response wait, as for an engine: `picked` is called when the request has been passed on.
 */
interface Held {
  picked(): void;
  readonly until: Promise<void>;
}

/**
 * Sends one request as Envoy does: the response begins when the picker has passed on the whole
 * request, and where `held` is given once it is over; each chunk follows when the one before has
 * been passed on. Resolves when the stream is closed. Throws where the picker ends it before that.
 */
export function sendRequest(
  session: ClientHttp2Session,
  request: PreparedRequest,
  held?: Held,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = openRawStream(session);
    const reply = new Reply(stream, request, held);
    stream.on('data', (bytes: Buffer) => reply.onBytes(bytes));
    stream.once('close', () => {
      if (reply.complete) resolve();
      else reject(new Error('the picker ended a stream early'));
    });
    stream.write(request.headers);
    stream.write(request.body);
  });
}

/** Counts the picker's messages without reading them, and sends what follows. */
class Reply {
  readonly #stream: ClientHttp2Stream;
  readonly #request: PreparedRequest;
  #held: Held | undefined;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #messageBytes = 0;
  #messages = 0;
  #sent = 0;

  constructor(stream: ClientHttp2Stream, request: PreparedRequest, held: Held | undefined) {
    this.#stream = stream;
    this.#request = request;
    this.#held = held;
  }

  get complete(): boolean {
    const { answersToRequest, responseBody } = this.#request;
    return this.#messages >= answersToRequest + 1 + responseBody.length;
  }

  onBytes(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#messageBytes > 0) {
        const taken = Math.min(this.#messageBytes, bytes.length - at);
        this.#messageBytes -= taken;
        at += taken;
        continue;
      }
      this.#head[this.#headBytes++] = bytes[at++] ?? 0;
      if (this.#headBytes < HEAD_BYTES) continue;
      this.#messageBytes = this.#head.readUInt32BE(1);
      this.#headBytes = 0;
      this.#messages += 1;
    }
    if (this.#messageBytes === 0 && this.#headBytes === 0) this.#goOn();
  }

  #goOn(): void {
    const { answersToRequest, responseHeaders, responseBody } = this.#request;
    const stream = this.#stream;
    // Not `close`, which also resets the stream: trailers of the picker that cross the reset count
    // as faults of the picker in Node's HTTP/2 client, which ends the connection after some
    // thousands.
    if (this.complete) stream.end();
    else if (this.#messages >= answersToRequest && this.#held !== undefined) this.#wait(this.#held);
    else if (this.#messages >= answersToRequest && this.#sent === 0) {
      stream.write(responseHeaders);
      this.#sendChunk(responseBody);
    } else if (this.#sent > 0 && this.#messages >= answersToRequest + 1 + this.#sent) {
      this.#sendChunk(responseBody);
    }
  }

  #wait(held: Held): void {
    this.#held = undefined;
    held.picked();
    void held.until.then(() => this.#goOn());
  }

  #sendChunk(responseBody: readonly Buffer[]): void {
    const chunk = responseBody[this.#sent++];
    if (chunk !== undefined) this.#stream.write(chunk);
  }
}
