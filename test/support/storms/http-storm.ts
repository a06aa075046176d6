import { Readable } from 'node:stream';
import { request } from 'undici';
import type { Millis, Random } from '../../../src/framework/runtime.ts';
import type { Visit } from '../sidecar/scripted-server.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';

/** Far more than all limits of a storm, one after the other, and standstills: nothing ends it any more. */
const HUNG_MS: Millis = 120_000;
const CLIENTS = 12;
const REQUESTS_EACH = 25;

/** Time that moves within calls and in each turn of the event loop, with standstills of up to 5 s. */
class TurningClock extends UnsteadyClock {
  isCalm = false;
  readonly #random: Random;
  #isOver = false;

  constructor(random: Random) {
    super(random.fork('clock'));
    this.#random = random.fork('turns');
    this.#turn();
  }

  end(): void {
    this.#isOver = true;
  }

  readonly #turn = (): void => {
    if (this.#isOver) return;
    if (!this.isCalm && this.#random.next() < 0.002) this.pass(5000 * this.#random.next());
    this.advanceBy(4 * this.#random.next());
    setImmediate(this.#turn);
  };
}

interface Sent {
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests of impatient clients with slow bodies, to servers that fail in every way. */
export class HttpStorm {
  readonly clock: TurningClock;
  readonly random: Random;
  /** How many requests ended how: by their status, `broken off`, or `hung`. */
  readonly outcomes: Map<string, number> = new Map();

  constructor(random: Random) {
    this.random = random;
    this.clock = new TurningClock(random);
  }

  after(ms: Millis): Promise<void> {
    return new Promise((resolve) => void this.clock.setTimer(ms, resolve));
  }

  /**
   * From now on nothing fails, and the clock is steady. Resolves once no timer is left and no
   * request open, or with what is left.
   */
  async calm(openRequests: () => Promise<number> = () => Promise.resolve(0)): Promise<string> {
    this.clock.isCalm = true;
    this.clock.pace = 'steady';
    const until = this.clock.at + HUNG_MS;
    for (;;) {
      const [timers, open] = [this.clock.pending, await openRequests()];
      if (timers === 0 && open === 0) return 'nothing';
      if (this.clock.at >= until) return `${timers} timers, ${open} requests`;
      await new Promise(setImmediate);
    }
  }

  async run(port: number, next: () => Sent): Promise<void> {
    const client = async (): Promise<void> => {
      for (let n = 0; n < REQUESTS_EACH; n++) await this.ask(port, next());
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
  }

  /** Resolves with how the request has ended, also after its headers. */
  async ask(port: number, { path, body, headers }: Sent): Promise<string> {
    const { clock, random } = this;
    const abort = new AbortController();
    const startedAt = clock.at;
    const leave = (): void => abort.abort();
    const leaves = !clock.isCalm && random.next() < 0.15;
    const timers = [clock.setTimer(HUNG_MS, leave)];
    if (leaves) timers.push(clock.setTimer(400 * random.next(), leave));
    const isSlow = !clock.isCalm && random.next() < 0.5;
    const asked = request(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: isSlow ? Readable.from(this.#slowly(body)) : body,
      signal: abort.signal,
    });
    const answered = asked.then(async (answer) => {
      await answer.body.dump({ limit: 1e6, signal: abort.signal });
      return String(answer.statusCode);
    });
    const ended = await answered.catch(() => 'broken off');
    for (const timer of timers) timer.cancel();
    const outcome = clock.at - startedAt < HUNG_MS ? ended : 'hung';
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    return outcome;
  }

  /** As a server that refuses, hangs, breaks off and pauses. */
  async answer(
    { response }: Visit,
    [type, parts]: readonly [string, readonly string[]],
  ): Promise<void> {
    const { clock, random } = this;
    const mood = clock.isCalm ? 1 : random.next();
    if (mood < 0.1) response.destroy();
    else if (mood >= 0.15 && mood < 0.25) response.writeHead(503).end('no');
    if (mood < 0.25) return;
    if (mood < 0.4) await this.after(300 * random.next());
    response.writeHead(200, { 'content-type': type });
    for (const part of parts) {
      response.write(part);
      if (clock.isCalm) continue;
      if (random.next() < 0.2) await this.after(200 * random.next());
      if (random.next() < 0.03) response.destroy();
    }
    response.end();
  }

  async *#slowly(body: string): AsyncGenerator<Buffer> {
    const size = Math.ceil(body.length / 4);
    for (let at = 0; at < body.length; at += size) {
      yield Buffer.from(body.slice(at, at + size));
      if (this.random.next() < 0.3) await this.after(200 * this.random.next());
    }
  }
}

/** An answer of some 4 KB in five parts. */
export const STREAMED: readonly [string, readonly string[]] = [
  'text/event-stream',
  [...Array.from({ length: 5 }, () => 'data: {"choices":[]}\n\n'.repeat(40)), 'data: [DONE]\n\n'],
];
