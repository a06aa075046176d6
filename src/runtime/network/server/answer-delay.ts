import { connect, type Socket } from 'node:net';
import type { Clock, Millis } from '../../../framework/runtime.ts';

/** Node itself refuses a request without a host: the answer costs next to nothing. */
const ASK = 'GET / HTTP/1.1\r\n\r\n';
/** At least so long between two requests; and so long the last answer says how it is. */
const PAUSE_MS: Millis = 250;

interface AnswerDelayOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly host: string;
  readonly port: number;
}

/**
 * How long a new client of a server of this process waits for an answer. Connections that wait to
 * be accepted are counted nowhere, and Node accepts one in each turn of the event loop: so a
 * connection of its own finds out. One is open at a time, and none unless `read` is called.
 */
export class AnswerDelay {
  readonly #options: AnswerDelayOptions;
  #asking: Socket | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #last: Millis = 0;

  constructor(options: AnswerDelayOptions) {
    this.#options = options;
  }

  /** What the request that waits, or has just been answered, waits: whichever waits longer. */
  read(): Millis {
    const now = this.#options.clock.now();
    if (this.#asking === undefined && now - this.#askedAt >= PAUSE_MS) this.#ask(now);
    const present = this.#asking === undefined ? 0 : now - this.#askedAt;
    return now - this.#answeredAt <= PAUSE_MS ? Math.max(this.#last, present) : present;
  }

  stop(): void {
    this.#asking?.destroy();
  }

  #ask(now: Millis): void {
    const { clock, host, port } = this.#options;
    this.#askedAt = now;
    const socket = connect(port, host);
    this.#asking = socket;
    socket.unref();
    socket.once('data', () => {
      this.#answeredAt = clock.now();
      this.#last = this.#answeredAt - this.#askedAt;
      socket.destroy();
    });
    socket.on('error', () => undefined).once('close', () => (this.#asking = undefined));
    socket.write(ASK);
  }
}
