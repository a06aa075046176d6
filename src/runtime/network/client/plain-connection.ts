import { connect, type Socket } from 'node:net';
import {
  BodyTooLargeError,
  type HttpGetOptions,
  type HttpResponse,
  type Millis,
} from '../../../framework/runtime.ts';
import { plainHead } from './plain-answer.ts';
import { ReusedBody } from './reused-body.ts';

/**
 * All connections read into this memory, one after the other. An answer that is whole in it is
 * given away as it lies there, and what awaits it runs before the next read; a part of one is
 * copied. The operating system fills it only when data is there.
 */
const READ = Buffer.allocUnsafeSlow(64 * 1024);

/** `not-plain`: the answer needs more of HTTP than this connection knows. The caller asks again. */
export type PlainOutcome = HttpResponse | Error | 'not-plain';

interface PageExchange {
  readonly url: URL;
  readonly options: HttpGetOptions;
  readonly onEnd: (outcome: PlainOutcome) => void;
  /** The connection served others before: its server may have ended it just now. */
  isReused: boolean;
  /** Undefined before the answer begins. */
  status: number | undefined;
  bodyBytes: number;
}

/**
 * GET requests over one kept connection without TLS, one at a time. It reads answers with a length
 * only: so do all usual metrics pages come, and reading one takes about half of the CPU that a
 * whole HTTP client needs. After a failure the next request connects again.
 */
export class PlainConnection {
  readonly #body = new ReusedBody();
  #socket: Socket | undefined;
  #exchange: PageExchange | undefined;
  #deadline: NodeJS.Timeout | undefined;
  #timeoutMs: Millis = 0;
  #request: { readonly url: URL; readonly bytes: Buffer } | undefined;

  /** Whether a request is under way: then no other may begin. */
  get isBusy(): boolean {
    return this.#exchange !== undefined;
  }

  /** Calls `onEnd` once. The body is valid until the event loop's next turn. */
  get(url: URL, options: HttpGetOptions, onEnd: (outcome: PlainOutcome) => void): void {
    const isReused = this.#socket !== undefined;
    this.#exchange = { url, options, onEnd, isReused, status: undefined, bodyBytes: 0 };
    this.#awaitDeadline(options.timeoutMs);
    this.#send(url);
  }

  /** Ends the request under way with an error, if there is one. */
  close(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
    this.#fail('the connection is closed');
    this.#drop();
  }

  #send(url: URL): void {
    this.#socket ??= this.#connect(url);
    if (this.#request?.url !== url) this.#request = { url, bytes: requestFor(url) };
    this.#socket.write(this.#request.bytes);
  }

  #connect(url: URL): Socket {
    const socket = connect({
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(url.port || 80),
      noDelay: true,
      keepAlive: true,
      onread: {
        buffer: READ,
        callback: (bytes, buffer) => {
          if (socket === this.#socket) this.#read(buffer as Buffer, bytes);
          return true;
        },
      },
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A failed connect to a name with several addresses has a code and no message.
      if (socket === this.#socket) this.#lost(error.message || error.code || error.name);
    });
    socket.once('close', () => {
      if (socket === this.#socket) this.#lost('other side closed');
    });
    return socket;
  }

  #read(memory: Buffer, bytes: number): void {
    const exchange = this.#exchange;
    if (exchange === undefined) {
      // Nothing was asked for.
      this.#drop();
      return;
    }
    if (exchange.status === undefined) this.#readHead(exchange, memory, bytes);
    else this.#readBody(exchange, exchange.status, memory, { from: 0, to: bytes });
  }

  #readHead(exchange: PageExchange, memory: Buffer, bytes: number): void {
    const head = plainHead(memory.subarray(0, bytes));
    if (head === undefined) {
      this.#drop();
      this.#end('not-plain');
      return;
    }
    const { status, headBytes, bodyBytes } = head;
    if (bodyBytes > exchange.options.bodyBytesMax) {
      this.#drop();
      this.#end(tooLarge(exchange));
      return;
    }
    exchange.status = status;
    exchange.bodyBytes = bodyBytes;
    if (headBytes + bodyBytes === bytes) {
      this.#end({ status, body: memory.subarray(headBytes, bytes) });
      return;
    }
    this.#body.clear(bodyBytes);
    this.#readBody(exchange, status, memory, { from: headBytes, to: bytes });
  }

  #readBody(
    { bodyBytes }: PageExchange,
    status: number,
    memory: Buffer,
    read: { readonly from: number; readonly to: number },
  ): void {
    const left = bodyBytes - this.#body.bytes;
    const to = Math.min(read.to, read.from + left);
    this.#body.append(memory, read.from, to);
    // What follows the answer belongs to no request.
    if (to < read.to) this.#drop();
    if (to - read.from === left) this.#end({ status, body: this.#body.view() });
  }

  /** A server that ends a kept connection may not have seen the request: it is sent once more. */
  #lost(what: string): void {
    const exchange = this.#exchange;
    if (exchange === undefined || !exchange.isReused || exchange.status !== undefined) {
      this.#fail(what);
      return;
    }
    exchange.isReused = false;
    this.#drop();
    this.#send(exchange.url);
  }

  #fail(what: string): void {
    this.#drop();
    const { url } = this.#exchange ?? {};
    if (url !== undefined) this.#end(new Error(`${url.href}: ${what}`));
  }

  #end(outcome: PlainOutcome): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.onEnd(outcome);
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  /** One timer for all requests, begun again with each: it fires only after the last. */
  #awaitDeadline(timeoutMs: Millis): void {
    if (this.#deadline !== undefined && this.#timeoutMs === timeoutMs) {
      this.#deadline.refresh();
      return;
    }
    clearTimeout(this.#deadline);
    this.#timeoutMs = timeoutMs;
    this.#deadline = setTimeout(this.#expire, timeoutMs).unref();
  }

  /** Waits for one turn of the loop: what came while the process stood still is read first. */
  readonly #expire = (): void => {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    setImmediate(() => {
      if (this.#exchange !== exchange) return;
      this.#drop();
      const { url, options } = exchange;
      this.#end(new Error(`${url.href} did not answer within ${options.timeoutMs} ms`));
    });
  };
}

function requestFor({ host, pathname, search }: URL): Buffer {
  return Buffer.from(
    `GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n\r\n`,
  );
}

function tooLarge({ url, options }: PageExchange): BodyTooLargeError {
  return new BodyTooLargeError(`${url.href} answered more than ${options.bodyBytesMax} bytes`);
}
