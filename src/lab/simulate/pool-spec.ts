import type { LatencyCoefficients } from '../../../stub-server/engine/latency-model.ts';
import type { LoraOptions } from '../../../stub-server/engine/lora-slots.ts';
import type { KvLink } from '../../../stub-server/pd/kv-fabric.ts';
import type { Millis } from '../../framework/runtime.ts';

/** One simulated model server. */
export interface ServerSpec {
  readonly id: string;
  /** Name of the preset it is of, if any. */
  readonly preset?: string;
  /** 1 unless said. */
  readonly accelerators?: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly latency: LatencyCoefficients;
  /** Steps take so many times as long as `latency` says; 1 unless said. */
  readonly slowdown?: number;
  readonly kvTokens: number;
  readonly sequencesMax: number;
  readonly batchedTokensMax: number;
  readonly admissionMs: Millis;
  /** Relative spread of step times; 0 makes them exact. */
  readonly jitter: number;
  readonly loras?: LoraOptions;
  /** How its KV goes to others and comes from them. */
  readonly kvLink?: KvLink;
}

/** What goes wrong, and when. */
export type FaultSpec =
  /** Everything under way is lost; the server refuses until it is back, empty. */
  | {
      readonly kind: 'crash';
      readonly server: string;
      readonly atMs: Millis;
      readonly forMs: Millis;
    }
  /** Steps take `factor` times as long. */
  | {
      readonly kind: 'slow';
      readonly server: string;
      readonly atMs: Millis;
      readonly forMs: Millis;
      readonly factor: number;
    };

export interface PoolSpec {
  readonly servers: readonly ServerSpec[];
  readonly faults: readonly FaultSpec[];
}

/** `count` servers alike. */
export function uniformPool(count: number, server: Omit<ServerSpec, 'id'>): PoolSpec {
  const servers = Array.from({ length: count }, (_, index) => ({ ...server, id: `s${index}` }));
  return { servers, faults: [] };
}
