import type { Clock, Random } from '../../src/framework/runtime.ts';
import type { Engine } from '../engine/engine.ts';
import type { FaultBoard } from '../faults/fault-board.ts';
import type { EngineStats } from '../metrics/engine-stats.ts';
import type { StubOptions } from '../options/stub-options.ts';
import type { KvExchange } from '../pd/kv-exchange.ts';
import type { KvFabric, KvPort } from '../pd/kv-fabric.ts';
import type { SharedStore } from '../pd/shared-store.ts';

/** One model server: an engine and what its API server knows around it. */
export interface Replica {
  /** Of its server: all its ranks have the same. */
  readonly name: string;
  /** Its server's place in the pool, from 0, and its data-parallel rank there. */
  readonly server: number;
  readonly rank: number;
  /** All of its server, by rank. */
  readonly ranks: readonly Replica[];
  /** `host:port`; known once it listens. */
  address: string;
  readonly engine: Engine;
  readonly stats: EngineStats;
  /** What is wrong with it; also says what /metrics shows. */
  readonly faults: FaultBoard;
  readonly options: StubOptions;
  /** Model time. */
  readonly clock: Clock;
  readonly random: Random;
  /** Adapters served, by name, with the path they came from. */
  readonly loras: Map<string, string>;
  /** When it is done loading, in model time. */
  readonly readyAt: number;
  /** The pool's, where legs of disaggregated requests meet. */
  readonly exchange: KvExchange;
  /** The pool's network, and this server's end of it. */
  readonly fabric: KvFabric;
  readonly port: KvPort;
  /** What it shares with others of its model; undefined when it has none. */
  readonly store: SharedStore | undefined;
}
