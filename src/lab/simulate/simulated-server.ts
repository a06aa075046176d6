import { Engine } from '../../../stub-server/engine/engine.ts';
import { EngineBalancer } from '../../../stub-server/engine/engine-balancer.ts';
import { latencyModel, slowed } from '../../../stub-server/engine/latency-model.ts';
import type { SequenceRequest, Submission } from '../../../stub-server/engine/sequence.ts';
import { EngineStats } from '../../../stub-server/metrics/engine-stats.ts';
import { KV_LINK_DEFAULT, KvPort } from '../../../stub-server/pd/kv-fabric.ts';
import type { Clock, Random } from '../../framework/runtime.ts';
import type { MetricsSample } from '../../library/create-picker.ts';
import type { ServerSpec } from './pool-spec.ts';

/** What a server of a simulation is made of, beside its specification. */
export interface ServerParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly blockTokens: number;
}

/** What a simulation needs of a model server. */
export interface ModelServer {
  readonly spec: ServerSpec;
  readonly stats: Pick<EngineStats, 'preemptions'>;
  /** Its port on the network between servers. */
  readonly port: KvPort;
  /** From now on steps take so many times as long. */
  set slowdown(factor: number);
  /**
   * A request that is refused ends with `error` at once. Without `rank` the server chooses the
   * engine.
   */
  submit(request: SequenceRequest, rank?: number): Submission;
  /**
   * What a scrape would read now, of all its engines or of one; undefined if it would fail.
   */
  sample(rank?: number): MetricsSample | undefined;
  /** Ends all requests, and refuses those that come, until `restart`. */
  crash(): void;
  restart(): void;
}

/**
 * One model server of a simulation: the engine of the stub, without its HTTP server; or several of
 * them behind one address, among which the server spreads requests as vLLM's API server does.
 */
export class SimulatedServer implements ModelServer {
  readonly spec: ServerSpec;
  readonly stats: EngineStats = new EngineStats();
  readonly port: KvPort;
  readonly #engines: readonly Engine[];
  readonly #balancer: EngineBalancer | undefined;
  #up = true;

  constructor(spec: ServerSpec, parts: ServerParts) {
    const { latency, kvTokens, loras, kvLink = KV_LINK_DEFAULT, slowdown = 1, ...rest } = spec;
    const { engines = 1 } = spec;
    this.spec = spec;
    this.port = new KvPort(kvLink);
    this.#engines = Array.from({ length: engines }, (_, rank) => {
      return new Engine({
        ...rest,
        ...parts,
        random: rank === 0 ? parts.random : parts.random.fork(`engine-${rank}`),
        latency: slowed(latencyModel(latency), slowdown),
        observer: this.stats,
        kvBlocks: Math.floor(kvTokens / parts.blockTokens),
        namesOwnBlocks: true,
        ...(loras && { loras }),
      });
    });
    if (engines > 1) {
      this.#balancer = new EngineBalancer(this.#engines, { rule: 'in-flight', clock: parts.clock });
    }
  }

  submit(request: SequenceRequest, rank?: number): Submission {
    const [first] = this.#engines;
    const tokens = request.promptTokens + request.outputTokens;
    if (!this.#up || first === undefined || tokens > first.contextTokensMax) return refuse(request);
    const balancer = this.#balancer;
    if (balancer === undefined) return first.submit(request);
    const index = rank ?? balancer.choose();
    return balancer.submit(this.#engines[index] ?? first, index, request);
  }

  sample(rank?: number): MetricsSample | undefined {
    if (!this.#up) return undefined;
    const engines = rank === undefined ? this.#engines : this.#engines.slice(rank, rank + 1);
    return {
      waitingQueueSize: sumOf(engines, ({ waitingCount }) => waitingCount),
      runningRequests: sumOf(engines, ({ runningCount }) => runningCount),
      kvCacheUsage: sumOf(engines, ({ kv }) => kv.pool.usage) / engines.length,
      ...(this.spec.loras && { lora: lorasOf(engines) }),
    };
  }

  crash(): void {
    this.#up = false;
    for (const engine of this.#engines) engine.crash();
  }

  restart(): void {
    this.#up = true;
  }

  set slowdown(factor: number) {
    for (const engine of this.#engines) engine.slowdown = factor;
  }
}

function sumOf(engines: readonly Engine[], value: (engine: Engine) => number): number {
  return engines.reduce((sum, engine) => sum + value(engine), 0);
}

/** As the last of the page's series that counts: what runs and waits on any of them. */
function lorasOf(engines: readonly Engine[]): NonNullable<MetricsSample['lora']> {
  const waiting = new Set<string>();
  const running = new Set<string>();
  for (const engine of engines) {
    for (const name of engine.loras.running) running.add(name);
    engine.forEachWaiting(({ request }) => {
      if (request.lora !== undefined) waiting.add(request.lora);
    });
  }
  return { running, waiting, max: Math.max(...engines.map(({ loras }) => loras.options.slots)) };
}

/** The submission of a request that no engine has: there is nothing to end or to release. */
export const NO_SUBMISSION: Submission = { abort() {}, release() {} };

/** Ends a request at once with `error`. */
export function refuse(request: SequenceRequest): Submission {
  const used = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  request.onDone?.('error', used, Number.NaN);
  return NO_SUBMISSION;
}
