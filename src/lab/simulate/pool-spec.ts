import type { LatencyCoefficients } from '../../../stub-server/engine/latency-model.ts';
import type { LoraOptions } from '../../../stub-server/engine/lora-slots.ts';
import type { KvLink } from '../../../stub-server/pd/kv-fabric.ts';
import { PRESETS, type PresetName } from '../../../stub-server/presets/presets.ts';
import type { Millis } from '../../framework/runtime.ts';
import { sizesIn } from '../traces/request-table.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { WorkloadContent } from '../traces/workload.ts';

/** One simulated model server. */
export interface ServerSpec {
  readonly id: string;
  /** Name of its preset, if it has one. */
  readonly preset?: string;
  /** 1 if not given. */
  readonly accelerators?: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly latency: LatencyCoefficients;
  /** How many times as long as `latency` says its steps take; 1 if not given. */
  readonly slowdown?: number;
  /**
   * Engines behind its one address, each with memory and batch of its own, as data-parallel ranks of
   * one API server; 1 if not given.
   */
  readonly engines?: number;
  /** Whether the picker chooses the engine of each request, as one of so many endpoints. */
  readonly steered?: boolean;
  /** The memory of each engine. */
  readonly kvTokens: number;
  /** The most tokens of prompt and answer; as many as its memory has room for if not given. */
  readonly contextTokensMax?: number | undefined;
  readonly sequencesMax: number;
  readonly batchedTokensMax: number;
  readonly admissionMs: Millis;
  /** Relative spread of step times; 0 makes them exact. */
  readonly jitter: number;
  readonly loras?: LoraOptions;
  /** Its network link for KV transfers to and from other servers. */
  readonly kvLink?: KvLink;
}

/** A fault of a server, and when it happens. */
export interface FaultSpec {
  /**
   * `crash`: all running requests are lost, and the server refuses requests until it is back, with
   * an empty cache. `slow`: steps take `factor` times longer.
   */
  readonly kind: 'crash' | 'slow';
  readonly server: string;
  readonly atMs: Millis;
  readonly forMs: Millis;
  /** Used by `slow` only; 1 if not given. */
  readonly factor?: number;
}

export interface PoolSpec {
  readonly servers: readonly ServerSpec[];
  readonly faults: readonly FaultSpec[];
}

/** A pool of `count` equal servers. */
export function uniformPool(count: number, server: Omit<ServerSpec, 'id'>): PoolSpec {
  const servers = Array.from({ length: count }, (_, index) => ({ ...server, id: `s${index}` }));
  return { servers, faults: [] };
}

/** The tokens of prompt and answer that a server takes: more are refused. */
export function windowOf(
  { contextTokensMax = Number.POSITIVE_INFINITY, kvTokens }: ServerSpec,
  blockTokens: number,
): number {
  return Math.min(contextTokensMax, Math.floor(kvTokens / blockTokens) * blockTokens);
}

/** Whether a server with this window refuses a request, as vLLM does where it has `max_tokens`. */
export function isTooLong(
  { promptTokens, outputTokens }: Pick<TraceRequest, 'promptTokens' | 'outputTokens'>,
  windowTokens: number,
): boolean {
  return promptTokens + outputTokens > windowTokens;
}

/** A sentence about the requests that every server of the pool refuses, if there are any. */
export function noteTooLong(
  { requests, blockTokens }: WorkloadContent,
  { servers }: PoolSpec,
): readonly string[] {
  const tokensMax = Math.max(...servers.map((server) => windowOf(server, blockTokens)));
  let length = 0;
  for (const request of sizesIn(requests)) if (isTooLong(request, tokensMax)) length += 1;
  if (length === 0) return [];
  const most = `${tokensMax.toLocaleString('en')} tokens that a server of the pool takes at most, by its KV memory or contextTokensMax`;
  return [
    length === 1
      ? `1 request fails: with its answer it is longer than the ${most}`
      : `${length.toLocaleString('en')} requests fail: with their answers they are longer than the ${most}`,
  ];
}

/** Tokens in each KV block of the presets. */
const PRESET_BLOCK_TOKENS = 16;

/** The properties of a server that come from its preset. */
export function presetServer(name: PresetName): Omit<ServerSpec, 'id' | 'labels' | 'jitter'> {
  const { latency, kvBlocks, accelerators = 1, ...limits } = PRESETS[name];
  const kvTokens = PRESET_BLOCK_TOKENS * kvBlocks;
  return { preset: name, accelerators, latency, kvTokens, ...limits };
}
