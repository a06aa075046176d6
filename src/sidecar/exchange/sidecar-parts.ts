import type { Clock, Millis } from '../../framework/runtime.ts';
import { LineLimit } from '../../runtime/log/limited-log.ts';
import type { FrontExchange } from '../../runtime/network/server/http-front.ts';
import type { KvContract } from '../contracts/kv-contract.ts';
import type { PeerPorts } from '../contracts/offloading.ts';
import type { SidecarBounds, SidecarOptions } from '../options/sidecar-options.ts';
import type { LegSender } from '../servers/upstreams.ts';
import type { EarlierTurns } from './earlier-turns.ts';
import type { BufferBudget } from './read-upload.ts';
import type { SidecarMetrics } from './sidecar-metrics.ts';

/** Conversations that are computed before their next turn asks for it. */
export interface Speculation {
  /** Whether there is one: from its answer on, until it is computed. */
  underWay: boolean;
}

/** Writes a line; lines of one kind that follow too fast are only counted. */
export type SparseLog = (kind: string, line: string) => void;

/** What all requests of a sidecar share. */
export interface SidecarParts {
  readonly options: SidecarOptions;
  /** The decoding server's data-parallel ranks, `host:port` each. */
  readonly engines: readonly string[];
  readonly bounds: SidecarBounds;
  readonly upstreams: LegSender;
  readonly budget: BufferBudget;
  readonly metrics: SidecarMetrics;
  readonly log: SparseLog;
  readonly contract: KvContract;
  /** Parameters that only the sidecar may set. */
  readonly reserved: ReadonlySet<string>;
  readonly peerPorts: PeerPorts;
  /** Undefined: nothing is computed before it is asked for. */
  readonly speculation: Speculation | undefined;
  /** Undefined: engines do not hold the KV of their answers for the next turn. */
  readonly earlierTurns: EarlierTurns | undefined;
}

/** One request of a client, and all that serving it takes. */
export interface Exchange extends FrontExchange, SidecarParts {
  /** The engine that answers it, `host:port`. */
  readonly engine: string;
  /** The request's headers to forward, with a request id. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A server that is down fails every request: a line for each would fill a disk. */
const LINE_EVERY_MS: Millis = 1_000;

/** At most one line of a kind per second; the next one says how many there were between. */
export function sparseLog(write: (line: string) => void, clock: Clock): SparseLog {
  const limit = new LineLimit(clock, LINE_EVERY_MS);
  return (kind, line) => {
    const leftOut = limit.pass(kind);
    if (leftOut === undefined) return;
    write(leftOut === 0 ? line : `${line} (and ${leftOut} more before)`);
  };
}
