import {
  capacityOf,
  isInTime,
  type LatencyObjective,
  type RequestMix,
  saturationOf,
} from '../../cost-model/capacity.ts';
import { loadPerEngine } from '../../cost-model/engine-load.ts';
import type { PromptSize } from '../../cost-model/step-time.ts';
import {
  ENGINE_MODEL,
  type EngineModelView,
  IN_FLIGHT,
  type InFlightView,
} from '../../framework/cycle-facts.ts';
import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { SchedulingContext } from '../../framework/scheduling.ts';

interface ServerFiguresOptions {
  readonly objective: LatencyObjective;
  /** How many requests may be in flight there; infinity for any number. */
  readonly limitOf: (endpoint: Endpoint) => number;
}

/**
 * What each server can serve of requests that are so in the mean, and how saturated it is, by the
 * picker's own model of its engines and by its ledger. Both are known from the first decision on.
 */
export class ServerFigures {
  readonly #options: ServerFiguresOptions;
  #engines: EngineModelView | undefined;
  #loads: InFlightView | undefined;

  constructor(options: ServerFiguresOptions) {
    this.#options = options;
  }

  get areKnown(): boolean {
    return this.#engines !== undefined;
  }

  get loads(): InFlightView | undefined {
    return this.#loads;
  }

  /** A decision was made: the views of all decisions are the same. */
  learn(context: SchedulingContext): void {
    if (this.areKnown) return;
    this.#engines = context.get(ENGINE_MODEL);
    this.#loads = context.get(IN_FLIGHT);
  }

  /** 0 before the first decision. */
  expectedOutputTokens(request: InferenceRequest): number {
    return this.#engines?.expectedOutputTokens(request) ?? 0;
  }

  isInTime(endpoint: Endpoint, prompt: PromptSize): boolean {
    const engine = this.#engines?.stepTime(endpoint);
    return engine === undefined || isInTime(prompt, engine, this.#options.objective);
  }

  /** What these endpoints serve in a second, each as one of so many times as many. */
  perSecond(answering: readonly Endpoint[], mix: RequestMix | undefined, times: number): number {
    const engines = times * enginesOf(answering);
    return answering.reduce((sum, each) => {
      const { requestsPerMs = 0 } = this.capacityOf(each, mix, engines) ?? {};
      return sum + 1000 * requestsPerMs;
    }, 0);
  }

  /** What the endpoint can serve, where so many engines share the requests. */
  capacityOf(
    endpoint: Endpoint,
    mix: RequestMix | undefined,
    engines: number,
  ): ReturnType<typeof capacityOf> | undefined {
    if (mix === undefined || this.#engines === undefined) return undefined;
    const { objective, limitOf } = this.#options;
    const own = endpoint.attribute(ENGINE_COUNT);
    const { runningMax = Number.POSITIVE_INFINITY } = this.#loads?.load(endpoint) ?? {};
    const { requestsPerMs, limit } = capacityOf({
      engine: this.#engines.stepTime(endpoint),
      mix,
      objective,
      engines,
      capacityTokens: memoryTokens(endpoint),
      maxConcurrency: Math.min(limitOf(endpoint), runningMax) / own,
    });
    return { requestsPerMs: own * requestsPerMs, limit };
  }

  saturationOf(endpoint: Endpoint, mix: RequestMix | undefined, at: Millis): number {
    if (mix === undefined || this.#engines === undefined || this.#loads === undefined) return 0;
    const { objective, limitOf } = this.#options;
    const all = this.#loads.load(endpoint);
    const load = loadPerEngine(all, endpoint);
    const capacityTokens = memoryTokens(endpoint);
    // Our own count is used only where the engine reports none.
    const heldTokens =
      isFresh(endpoint, at) && Number.isFinite(capacityTokens)
        ? endpoint.metrics.kvCacheUsage * capacityTokens
        : load.contextTokens;
    const about = { engine: this.#engines.stepTime(endpoint), mix, objective };
    const byCount = (all.requests + 1) / limitOf(endpoint);
    return Math.max(byCount, saturationOf(load, { heldTokens, capacityTokens }, about));
  }
}

export function enginesOf(endpoints: readonly Endpoint[]): number {
  return endpoints.reduce((sum, each) => sum + each.attribute(ENGINE_COUNT), 0);
}

/** The memory of each engine. */
function memoryTokens(endpoint: Endpoint): number {
  const cache = endpoint.attribute(CACHE_CONFIG);
  return cache === undefined
    ? Number.POSITIVE_INFINITY
    : Math.max(1, cache.blocks * cache.blockTokens);
}
