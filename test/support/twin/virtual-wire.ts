import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import type { HttpResponse } from '../../../src/framework/runtime.ts';
import type { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';

interface WireRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

/** Called as the answer comes. */
export interface AnswerHooks {
  readonly onHeaders: (status: number, headers: IncomingHttpHeaders) => void;
  readonly onChunk: (chunk: Buffer) => void;
  /** Once, with an error where the answer was cut. */
  readonly onEnd: (error?: Error) => void;
}

/** Turns of the event loop without a byte after which none is under way. */
const QUIET_TURNS = 4;

/**
 * HTTP between parts of one process: real servers and a real client, joined by streams in memory.
 * Time stands still until all bytes have arrived.
 */
export class VirtualWire {
  readonly #clock: SimulatedClock;
  readonly #servers = new Map<string, Server>();
  #moved = false;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  /** The server need not listen. */
  add(address: string, server: Server): void {
    this.#servers.set(address, server);
  }

  /** Sends a request over a connection of its own. */
  send(address: string, { body, headers, ...line }: WireRequest, hooks: AnswerHooks): void {
    const server = this.#servers.get(address);
    if (server === undefined) throw new Error(`no server has the address ${address}`);
    const [near, far] = duplexPair();
    server.emit('connection', this.#watched(far));
    const length = body && { 'content-length': String(body.length) };
    const createConnection = (): Duplex => this.#watched(near);
    const options = { ...line, headers: { ...headers, ...length }, createConnection };
    httpRequest(options, (answer) => {
      hooks.onHeaders(answer.statusCode ?? 0, answer.headers);
      answer.on('data', hooks.onChunk);
      answer.on('end', () => hooks.onEnd());
      answer.on('error', hooks.onEnd);
    })
      .on('error', hooks.onEnd)
      .end(body);
  }

  /** Sends a request, and calls back with the whole answer. */
  ask(address: string, request: WireRequest, answered: (answer: HttpResponse) => void): void {
    const chunks: Buffer[] = [];
    let status = 0;
    this.send(address, request, {
      onHeaders: (code) => {
        status = code;
      },
      onChunk: (chunk) => void chunks.push(chunk),
      onEnd: () => answered({ status, body: Buffer.concat(chunks) }),
    });
  }

  /** Fires timers until `done`, each when all bytes because of those before have arrived. */
  async run(done: () => boolean): Promise<void> {
    await this.#settle();
    while (!done()) {
      if (!this.#clock.step()) throw new Error('there is no timer left, and it is not done');
      await this.#settle();
    }
  }

  async #settle(): Promise<void> {
    // What a timer has written goes out with the next turn.
    await turn();
    for (let quiet = this.#moved ? 0 : QUIET_TURNS; quiet < QUIET_TURNS; quiet++) {
      this.#moved = false;
      await turn();
      if (this.#moved) quiet = -1;
    }
    this.#moved = false;
  }

  /** Notices what is written. */
  #watched(socket: Duplex): Duplex {
    this.#moved = true;
    const write = socket._write.bind(socket);
    socket._write = (...what) => {
      this.#moved = true;
      write(...what);
    };
    return socket;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
