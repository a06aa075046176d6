import type { PoolSpec } from './pool-spec.ts';
import { tpotOf } from './service-objective.ts';
import type { RequestResult, SimulationResult } from './simulate.ts';
import type { Workload } from './workload.ts';

/** What a picture is drawn from. Times in milliseconds. */
export interface SimulationCurves {
  /** The values that 0, 1, … 100 of a hundred requests stay below. */
  readonly ttft: readonly number[];
  readonly tpot: readonly number[];
  readonly e2e: readonly number[];
  /** One for each of `BINS` equal spans of the trace. */
  readonly binMs: number;
  /** Share of prompt tokens found in a cache, in each span; NaN where nothing came. */
  readonly hitRate: readonly number[];
  /** Tokens, prompts and answers, that each server was given in each span: by server, then by span. */
  readonly load: readonly (readonly number[])[];
}

/** Spans of time that a run is drawn in. */
export const BINS = 48;

export function curvesOf(
  { requests }: Pick<SimulationResult, 'requests'>,
  { servers }: { readonly servers: readonly unknown[] },
): SimulationCurves {
  const served = requests.filter(({ completed }) => completed);
  const lastMs = requests.at(-1)?.request.atMs ?? 0;
  const binMs = Math.max(1, (lastMs + 1) / BINS);
  const binOf = ({ request }: RequestResult): number =>
    Math.min(BINS - 1, Math.floor(request.atMs / binMs));
  const prompt = zeros();
  const cached = zeros();
  const load = servers.map(() => zeros());
  for (const each of served) {
    const bin = binOf(each);
    const { promptTokens, outputTokens } = each.request;
    prompt[bin] = (prompt[bin] ?? 0) + promptTokens;
    cached[bin] = (cached[bin] ?? 0) + each.cachedTokens;
    const row = load[each.server];
    if (row !== undefined)
      row[bin] = (row[bin] ?? 0) + promptTokens - each.cachedTokens + outputTokens;
  }
  return {
    ttft: hundredths(served.map(({ ttftMs }) => ttftMs)),
    tpot: hundredths(served.map(tpotOf)),
    e2e: hundredths(served.map(({ e2eMs }) => e2eMs)),
    binMs,
    hitRate: prompt.map((tokens, bin) => (tokens === 0 ? Number.NaN : (cached[bin] ?? 0) / tokens)),
    load,
  };
}

function zeros(): number[] {
  return Array.from({ length: BINS }, () => 0);
}

/** The share of prompt tokens that caches could find at all: with memory for everything, and with the pool's as one. */
export function hitCeilings(
  { requests, blockTokens }: Workload,
  { servers }: PoolSpec,
): { readonly unlimited: number; readonly oneCache: number } {
  const poolBlocks = servers.reduce((sum, { kvTokens }) => sum + kvTokens, 0) / blockTokens;
  return {
    unlimited: hitShare({ requests, blockTokens }, Number.POSITIVE_INFINITY),
    oneCache: hitShare({ requests, blockTokens }, poolBlocks),
  };
}

/** Of one cache, least recently used out first, requests one after another. */
function hitShare({ requests, blockTokens }: Workload, blocksMax: number): number {
  const cache = new Set<string>();
  let found = 0;
  let asked = 0;
  for (const { blockIds, promptTokens, model } of requests) {
    asked += promptTokens;
    const keys = blockIds.map((id, place) => `${model} ${place} ${id}`);
    const missing = keys.findIndex((key) => !cache.has(key));
    found += Math.min(promptTokens, (missing < 0 ? keys.length : missing) * blockTokens);
    for (const key of keys.toReversed()) {
      cache.delete(key);
      cache.add(key);
    }
    for (const oldest of cache) {
      if (cache.size <= blocksMax) break;
      cache.delete(oldest);
    }
  }
  return asked === 0 ? 0 : found / asked;
}

function hundredths(values: readonly number[]): readonly number[] {
  const sorted = Float64Array.from(values).sort();
  return Array.from({ length: 101 }, (_, share) => {
    const at = Math.min(sorted.length - 1, Math.floor((share / 100) * sorted.length));
    return sorted[at] ?? Number.NaN;
  });
}
