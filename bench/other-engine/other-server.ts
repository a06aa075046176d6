import type { ServerSpec } from '../../src/lab/simulate/pool-spec.ts';
import {
  type ModelServer,
  refuse,
  type ServerParts,
} from '../../src/lab/simulate/simulated-server.ts';
import type { MetricsSample } from '../../src/library/create-picker.ts';
import type { SequenceRequest, Submission } from '../../stub-server/engine/sequence.ts';
import { KV_LINK_DEFAULT, KvPort } from '../../stub-server/pd/kv-fabric.ts';
import { type EngineRules, OtherEngine } from './other-engine.ts';

/**
 * A model server of a simulation with the other engine. Only name and size of its specification
 * count.
 */
export class OtherServer implements ModelServer {
  readonly spec: ServerSpec;
  readonly port: KvPort = new KvPort(KV_LINK_DEFAULT);
  /** Its engine never preempts. */
  readonly stats: ModelServer['stats'] = { preemptions: 0 };
  readonly #engine: OtherEngine;
  #isUp = true;

  constructor(spec: ServerSpec, { clock, blockTokens }: ServerParts, rules: EngineRules) {
    this.spec = spec;
    this.#engine = new OtherEngine(rules, { clock, blockTokens });
  }

  set slowdown(factor: number) {
    this.#engine.slowdown = factor;
  }

  submit(request: SequenceRequest): Submission {
    return this.#isUp ? this.#engine.submit(request) : refuse(request);
  }

  sample(): MetricsSample | undefined {
    return this.#isUp ? this.#engine.sample() : undefined;
  }

  crash(): void {
    this.#isUp = false;
    this.#engine.crash();
  }

  restart(): void {
    this.#isUp = true;
  }
}
