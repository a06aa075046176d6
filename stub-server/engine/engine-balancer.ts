import type { Clock, Millis } from '../../src/framework/runtime.ts';
import type { ModelEngine } from './model-engine.ts';
import type { SequenceRequest, Submission } from './sequence.ts';

/**
 * How a server with several engines spreads requests. `in-flight`: vLLM since July 2026
 * (vllm#49204); `queues`: vLLM before; `turns`: SGLang, one after the other.
 */
export type BalancingRule = 'in-flight' | 'queues' | 'turns';

/** What a server reads of an engine to spread requests. */
interface BalancedEngine extends Pick<ModelEngine, 'runningCount' | 'waitingCount'> {
  readonly kv: { readonly pool: { readonly usage: number } };
}

interface Counts {
  waiting: number;
  readonly running: number;
  readonly kvUsage: number;
}

/** vLLM's coordinator sends the engines' counts to API servers no more often than that. */
const COUNTS_EVERY_MS = 100;
/** A waiting request counts for so many running ones under `queues`. */
const WAITING_WEIGHT = 4;
/** Under `in-flight` it counts more the fuller the memory is, from this share on. */
const PRESSURE_FROM = 0.5;
const PRESSURE_WEIGHT = 6;

/**
 * Chooses the engine of each request where several are behind one address, as the API server does:
 * by counts that may be 100 ms old, and by what it has sent itself since.
 */
export class EngineBalancer {
  readonly #engines: readonly BalancedEngine[];
  readonly #rule: BalancingRule;
  readonly #clock: Pick<Clock, 'now'>;
  /** Requests that have not ended, by engine. */
  readonly #inFlight: number[];
  #counts: readonly Counts[] = [];
  #countedAt: Millis = Number.NEGATIVE_INFINITY;
  /** Where the search begins: the first of equal ones is taken. */
  #first = 0;

  constructor(
    engines: readonly BalancedEngine[],
    { rule, clock }: { readonly rule: BalancingRule; readonly clock: Pick<Clock, 'now'> },
  ) {
    this.#engines = engines;
    this.#rule = rule;
    this.#clock = clock;
    this.#inFlight = engines.map(() => 0);
  }

  /** The index of the engine for the next request. */
  choose(): number {
    this.#renewCounts();
    const { length } = this.#engines;
    let chosen = this.#first;
    for (let step = 1; step < length; step++) {
      const index = (this.#first + step) % length;
      if (this.#load(index) < this.#load(chosen)) chosen = index;
    }
    (this.#counts[chosen] as Counts).waiting += 1;
    if (this.#rule !== 'queues') this.#first = (this.#first + 1) % length;
    return chosen;
  }

  /** Submits a request to the engine at `index`, and counts it there until it ends. */
  submit(engine: ModelEngine, index: number, request: SequenceRequest): Submission {
    this.#inFlight[index] = this.#countAt(index) + 1;
    return engine.submit({
      ...request,
      onDone: (...end) => {
        this.#inFlight[index] = this.#countAt(index) - 1;
        request.onDone?.(...end);
      },
    });
  }

  #load(index: number): number {
    if (this.#rule === 'turns') return 0;
    const { waiting, running, kvUsage } = this.#counts[index] as Counts;
    if (this.#rule === 'queues') return WAITING_WEIGHT * waiting + running;
    const pressure = PRESSURE_WEIGHT * Math.max(0, kvUsage - PRESSURE_FROM);
    return Math.max(this.#countAt(index), waiting + running) + pressure * waiting;
  }

  #countAt(index: number): number {
    return this.#inFlight[index] as number;
  }

  /** Counts are taken at a request, so that an idle server has no timer. */
  #renewCounts(): void {
    const now = this.#clock.now();
    if (now - this.#countedAt < COUNTS_EVERY_MS) return;
    this.#countedAt = now;
    this.#counts = this.#engines.map(({ waitingCount, runningCount, kv }) => ({
      waiting: waitingCount,
      running: runningCount,
      kvUsage: kv.pool.usage,
    }));
  }
}
