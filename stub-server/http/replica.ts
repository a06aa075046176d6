import type { Clock, Random } from '../../src/framework/runtime.ts';
import type { Engine } from '../engine.ts';
import type { FaultBoard } from '../faults/fault-board.ts';
import type { EngineStats } from '../metrics/engine-stats.ts';
import type { KvTransfers } from '../pd/kv-transfers.ts';
import type { StubOptions } from '../stub-options.ts';

/** One model server: an engine and what its API server knows around it. */
export interface Replica {
  readonly name: string;
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
  readonly transfers: KvTransfers;
}
