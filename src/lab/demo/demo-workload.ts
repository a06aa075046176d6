import { hitLadder } from '../run-summary/hit-ladder.ts';
import { sum } from '../run-summary/statistics.ts';
import type { Trace, TraceRequest } from '../traces/trace.ts';

export interface DemoWorkload {
  readonly blockTokens: number;
  /** Sent first and not measured: what the measured conversations had asked before. */
  readonly warmUp: readonly TraceRequest[];
  /** Times count from the start of the measured part. */
  readonly measured: readonly TraceRequest[];
  /** Share of the measured prompt tokens that one cache of unlimited size would contain. */
  readonly hitRateMax: number;
}

interface DemoWorkloadOptions {
  /** The measured part of the trace. */
  readonly fromMs: number;
  readonly toMs: number;
  /** How many times faster than in the trace requests arrive. */
  readonly arrivalSpeed: number;
  readonly warmUpGapMs: number;
}

/** Prompts with only this many blocks in common share a system prompt and not a conversation. */
const SYSTEM_PROMPT_BLOCKS = 1;

/**
 * A part of a trace, with a warm-up so that it does not begin with empty caches: for each measured
 * request, the earlier request with the longest common prefix, answered with a single token.
 */
export function planWorkload(
  { requests, blockTokens }: Pick<Trace, 'requests' | 'blockTokens'>,
  { fromMs, toMs, arrivalSpeed, warmUpGapMs }: DemoWorkloadOptions,
): DemoWorkload {
  const before = requests.filter(({ atMs }) => atMs < fromMs);
  const window = requests.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const closest = new Set(window.map((request) => longestCommonPrefix(request, before)));
  const warmUp = before.filter((request) => closest.has(request));
  const cachedTokens = (all: readonly TraceRequest[]): number =>
    promptTokensOf(all) * hitLadder({ requests: all, blockTokens }, undefined, 1).ideal.overall;
  return {
    blockTokens,
    warmUp: warmUp.map((request, index) => ({
      ...request,
      atMs: index * warmUpGapMs,
      outputTokens: 1,
    })),
    measured: window.map((each) => ({ ...each, atMs: (each.atMs - fromMs) / arrivalSpeed })),
    hitRateMax:
      (cachedTokens([...warmUp, ...window]) - cachedTokens(warmUp)) /
      Math.max(1, promptTokensOf(window)),
  };
}

function promptTokensOf(requests: readonly TraceRequest[]): number {
  return sum(requests.map(({ promptTokens }) => promptTokens));
}

/** Undefined if no earlier request shares more than a system prompt. */
function longestCommonPrefix(
  { blockIds }: TraceRequest,
  before: readonly TraceRequest[],
): TraceRequest | undefined {
  let longest = SYSTEM_PROMPT_BLOCKS;
  let found: TraceRequest | undefined;
  for (const each of before) {
    const different = blockIds.findIndex((id, place) => id !== each.blockIds[place]);
    const common = different < 0 ? blockIds.length : different;
    if (common <= longest) continue;
    longest = common;
    found = each;
  }
  return found;
}
