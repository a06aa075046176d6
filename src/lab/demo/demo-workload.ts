import type { TraceRow } from './mooncake-trace.ts';
import { promptText } from './prompt-text.ts';

export interface PlannedRequest {
  /** When to send it, after the start of its phase. */
  readonly atMs: number;
  readonly promptTokens: number;
  readonly prompt: string;
  readonly outputTokens: number;
}

export interface Workload {
  /** Sent first and not measured: what the measured conversations had said before. */
  readonly warmUp: readonly PlannedRequest[];
  readonly measured: readonly PlannedRequest[];
  /** Share of the measured prompt tokens that one endlessly large cache for all would have. */
  readonly hitRateMax: number;
}

export interface WorkloadOptions {
  /** The measured part of the trace. */
  readonly fromMs: number;
  readonly toMs: number;
  /** How many times faster than in the trace requests arrive. */
  readonly arrivalSpeed: number;
  readonly warmUpGapMs: number;
}

/** A shared system prompt alone is no conversation; so many blocks in common are. */
const COMMON_BLOCKS_MIN = 2;

/**
 * A minute of a trace, and a warm-up so that it does not begin with empty caches, as no minute in production does: of the rows
 * before it, for each measured row the one with the longest common prefix, answered with a single token.
 */
export function planWorkload(
  rows: readonly TraceRow[],
  { fromMs, toMs, arrivalSpeed, warmUpGapMs }: WorkloadOptions,
): Workload {
  const before = rows.filter(({ timestampMs }) => timestampMs < fromMs);
  const window = rows.filter(({ timestampMs }) => timestampMs >= fromMs && timestampMs < toMs);
  const earlier = new Set<TraceRow>();
  for (const row of window) {
    const closest = longestCommonPrefix(row, before);
    if (closest !== undefined) earlier.add(closest);
  }
  const warmUp = before.filter((row) => earlier.has(row));
  return {
    warmUp: warmUp.map((row, index) => ({
      atMs: index * warmUpGapMs,
      promptTokens: row.inputTokens,
      prompt: promptText(row),
      outputTokens: 1,
    })),
    measured: window.map((row) => ({
      atMs: (row.timestampMs - fromMs) / arrivalSpeed,
      promptTokens: row.inputTokens,
      prompt: promptText(row),
      outputTokens: Math.max(1, row.outputTokens),
    })),
    hitRateMax: hitRateMax(warmUp, window),
  };
}

function longestCommonPrefix(row: TraceRow, before: readonly TraceRow[]): TraceRow | undefined {
  let longest = COMMON_BLOCKS_MIN - 1;
  let found: TraceRow | undefined;
  for (const each of before) {
    const common = commonBlocks(row.hashIds, each.hashIds);
    if (common > longest) {
      longest = common;
      found = each;
    }
  }
  return found;
}

function commonBlocks(one: readonly number[], other: readonly number[]): number {
  let count = 0;
  while (count < one.length && one[count] === other[count]) count += 1;
  return count;
}

function hitRateMax(warmUp: readonly TraceRow[], window: readonly TraceRow[]): number {
  const seen = new Set(warmUp.flatMap(({ hashIds }) => hashIds));
  let blocks = 0;
  let hits = 0;
  for (const { hashIds } of window) {
    const missing = hashIds.findIndex((id) => !seen.has(id));
    hits += missing < 0 ? hashIds.length : missing;
    blocks += hashIds.length;
    for (const id of hashIds) seen.add(id);
  }
  return blocks === 0 ? 0 : hits / blocks;
}
