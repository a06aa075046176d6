import type { Clock, Millis, Random } from '../../src/framework/runtime.ts';
import type { ServingPoint } from './serving-point.ts';

export interface ClientRequest {
  /** When the client began to measure. */
  readonly sentAt: Millis;
  /** Must be called when the request has ended. */
  readonly done: () => void;
}

interface ClientOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** What a request waits for a new connection: name resolution and handshake. */
  readonly connectMs: Millis;
  /** Hands a request to the server. */
  readonly submit: (request: ClientRequest) => void;
}

/** vLLM's server closes connections that were idle so long (uvicorn's keep-alive). */
const KEEP_ALIVE_MS = 5000;

/**
 * The client of inference-perf. It plans all requests of a stage: exponential gaps, scaled so that
 * they fill the stage exactly. Its processes take them in turn. While as many are open as may be,
 * requests wait, and their measurement begins when they are sent. Each process keeps its own
 * connections, so that at a low rate most requests need a new one.
 */
export class BenchmarkClient {
  readonly #options: ClientOptions;
  readonly #inFlightMax: number;
  /** For each process, when its idle connections became idle; the latest is last. */
  readonly #idleSince: readonly Millis[][];
  #queued = 0;
  #open = 0;

  constructor({ inFlightMax, clientWorkers }: ServingPoint, options: ClientOptions) {
    this.#options = options;
    this.#inFlightMax = inFlightMax;
    this.#idleSince = Array.from({ length: clientWorkers }, () => []);
  }

  /** Sets a timer for each request of the stage. */
  start(requests: number, requestedRps: number): void {
    const { clock, random } = this.#options;
    arrivals(requests, requestedRps, random).forEach((at, index) => {
      clock.setTimer(at, () => {
        if (this.#open < this.#inFlightMax) this.#send(index % this.#idleSince.length);
        else this.#queued += 1;
      });
    });
  }

  #send(worker: number): void {
    const { clock, connectMs, submit } = this.#options;
    const idle = this.#idleSince[worker] as Millis[];
    const sentAt = clock.now();
    const done = (): void => {
      this.#open -= 1;
      idle.push(clock.now());
      if (this.#queued === 0) return;
      this.#queued -= 1;
      this.#send(worker);
    };
    this.#open += 1;
    const since = idle.pop() ?? Number.NEGATIVE_INFINITY;
    if (sentAt - since <= KEEP_ALIVE_MS) submit({ sentAt, done });
    else clock.setTimer(connectMs, () => submit({ sentAt, done }));
  }
}

/** Milliseconds from the start of the stage. */
function arrivals(requests: number, rps: number, random: Random): readonly Millis[] {
  const gaps = Array.from({ length: requests }, () => -Math.log(1 - random.next()));
  const scale = (1000 * requests) / rps / gaps.reduce((sum, gap) => sum + gap, 0);
  let at = 0;
  return gaps.map((gap) => {
    at += scale * gap;
    return at;
  });
}
