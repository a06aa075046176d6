import type { LoraState } from '../../../src/framework/endpoint-attributes.ts';
import type { Clock, Random } from '../../../src/framework/runtime.ts';
import type { ServerSpec } from '../../../src/lab/simulate/pool-spec.ts';
import {
  NO_SUBMISSION,
  type ServerParts,
  SimulatedServer,
} from '../../../src/lab/simulate/simulated-server.ts';
import type { MetricsSample } from '../../../src/library/create-picker.ts';
import type { SequenceRequest, Submission } from '../../../stub-server/engine/sequence.ts';
import { drawnBelow, drawnFrom } from '../drawn.ts';

/** How a server speaks of itself. */
export const MANNERS = ['truth', 'silent', 'full', 'empty', 'frozen', 'random'] as const;
export type Manner = (typeof MANNERS)[number];

/** For so long a server speaks in one manner. */
const MANNER_MS = 15_000;

/**
 * A server that works, and speaks of itself in a manner that changes, if none is given: it says the
 * truth, nothing, always that its memory is full and requests wait, always that it does nothing,
 * what it said last, or anything.
 */
export class LyingServer {
  readonly spec: ServerSpec;
  readonly #server: SimulatedServer;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #manner: Manner | undefined;
  readonly #stopped: (() => void)[] = [];
  #isStopped = false;
  /** Requests that came while it had stopped. */
  gotStopped = 0;
  #last: MetricsSample | undefined;
  #now: Manner = 'truth';
  #changesAt = 0;

  constructor(spec: ServerSpec, parts: ServerParts, manner: Manner | undefined) {
    this.spec = spec;
    this.#server = new SimulatedServer(spec, parts);
    this.#clock = parts.clock;
    this.#random = parts.random.fork('manner');
    this.#manner = manner;
  }

  /** Requests that come while it has stopped begin when it goes on. */
  submit(request: SequenceRequest): Submission {
    if (!this.#isStopped) return this.#server.submit(request);
    this.gotStopped += 1;
    this.#stopped.push(() => this.#server.submit(request));
    return NO_SUBMISSION;
  }

  stop(): void {
    this.#isStopped = true;
  }

  goOn(): void {
    this.#isStopped = false;
    for (const begin of this.#stopped.splice(0)) begin();
  }

  crash(): void {
    this.goOn();
    this.#server.crash();
    this.#server.restart();
  }

  /** What a scrape reads; undefined where it fails. */
  sample(): MetricsSample | undefined {
    const truth = this.#server.sample();
    const said = truth && this.#inManner(truth);
    this.#last = said ?? this.#last;
    return said;
  }

  #inManner(truth: MetricsSample): MetricsSample | undefined {
    const said = this.#numbersInManner(truth);
    return said && { ...said, ...(truth.lora && { lora: this.#adaptersInManner(truth.lora) }) };
  }

  #adaptersInManner(truth: LoraState): LoraState {
    const others = new Set(['adapter-0', 'unknown', 'gone']);
    switch (this.#mannerNow()) {
      case 'full':
        return { running: others, waiting: others, max: truth.max };
      case 'empty':
        return { ...truth, running: new Set(), waiting: new Set() };
      case 'frozen':
        // A page that is read anew has the same names in other sets.
        return { ...(this.#last?.lora ?? truth) };
      case 'random':
        return { ...truth, max: Math.floor(4 * this.#random.next()) };
      case 'truth':
      case 'silent':
        return truth;
    }
  }

  #numbersInManner(truth: MetricsSample): Omit<MetricsSample, 'lora'> | undefined {
    const waitingQueueSize = Math.max(1, truth.waitingQueueSize);
    const below = (bound: number): number => drawnBelow(this.#random, bound);
    switch (this.#mannerNow()) {
      case 'truth':
        return truth;
      case 'silent':
        return undefined;
      case 'full':
        return { waitingQueueSize, runningRequests: 1, kvCacheUsage: 1 };
      case 'empty':
        return { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
      case 'frozen':
        return this.#last ?? truth;
      case 'random':
        return {
          waitingQueueSize: below(3),
          runningRequests: below(30),
          kvCacheUsage: below(11) / 10,
        };
    }
  }

  #mannerNow(): Manner {
    if (this.#manner !== undefined) return this.#manner;
    const now = this.#clock.now();
    if (now >= this.#changesAt) {
      this.#changesAt = now + MANNER_MS * this.#random.next();
      this.#now = drawnFrom(this.#random, MANNERS);
    }
    return this.#now;
  }
}
