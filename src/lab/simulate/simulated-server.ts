import { Engine } from '../../../stub-server/engine/engine.ts';
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
  /** A request that is refused ends with `error` at once. */
  submit(request: SequenceRequest): Submission;
  /** What a scrape would read now; undefined if it would fail. */
  sample(): MetricsSample | undefined;
  /** Ends all requests, and refuses those that come, until `restart`. */
  crash(): void;
  restart(): void;
}

/** One model server of a simulation: the engine of the stub, without its HTTP server. */
export class SimulatedServer implements ModelServer {
  readonly spec: ServerSpec;
  readonly stats: EngineStats = new EngineStats();
  readonly port: KvPort;
  readonly #engine: Engine;
  #up = true;

  constructor(spec: ServerSpec, parts: ServerParts) {
    const { latency, kvTokens, loras, kvLink = KV_LINK_DEFAULT, slowdown = 1, ...rest } = spec;
    this.spec = spec;
    this.port = new KvPort(kvLink);
    this.#engine = new Engine({
      ...rest,
      ...parts,
      latency: slowed(latencyModel(latency), slowdown),
      observer: this.stats,
      kvBlocks: Math.floor(kvTokens / parts.blockTokens),
      namesOwnBlocks: true,
      ...(loras && { loras }),
    });
  }

  submit(request: SequenceRequest): Submission {
    const refused =
      !this.#up || request.promptTokens + request.outputTokens > this.#engine.contextTokensMax;
    return refused ? refuse(request) : this.#engine.submit(request);
  }

  sample(): MetricsSample | undefined {
    if (!this.#up) return undefined;
    const { loras, runningCount, waitingCount, kv } = this.#engine;
    const waiting = new Set<string>();
    if (this.spec.loras !== undefined) {
      this.#engine.forEachWaiting(({ request }) => {
        if (request.lora !== undefined) waiting.add(request.lora);
      });
    }
    return {
      waitingQueueSize: waitingCount,
      runningRequests: runningCount,
      kvCacheUsage: kv.pool.usage,
      ...(this.spec.loras && {
        lora: { running: loras.running, waiting, max: loras.options.slots },
      }),
    };
  }

  crash(): void {
    this.#up = false;
    this.#engine.crash();
  }

  restart(): void {
    this.#up = true;
  }

  set slowdown(factor: number) {
    this.#engine.slowdown = factor;
  }
}

/** The submission of a request that no engine has: there is nothing to end or to release. */
export const NO_SUBMISSION: Submission = { abort() {}, release() {} };

/** Ends a request at once with `error`. */
export function refuse(request: SequenceRequest): Submission {
  const used = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  request.onDone?.('error', used, Number.NaN);
  return NO_SUBMISSION;
}
