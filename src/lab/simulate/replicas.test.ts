import { describe, expect, it } from 'vitest';
import { tellFigure } from '../../../test/support/figure.ts';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { summarize } from '../run-summary/summarize.ts';
import { readTrace } from '../traces/reading/read-trace.ts';
import { jittered } from '../traces/workload.ts';
import { presetServer, uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const SERVERS = 8;
/** Hit rates of single draws differ by up to a tenth. */
const SEEDS = [1, 2, 3, 4, 5];
const SPREAD_MS = 10_000;
const trace = readTrace('bench/traces/mooncake-conversation-5min.jsonl', { lenient: false });
const pool = uniformPool(SERVERS, {
  ...presetServer('llama-3.1-8b-h100'),
  labels: {},
  jitter: 0.05,
});

interface Figures {
  hitRate: number;
  ttftMs: number;
  /** The most tokens that one server computed, over the mean. */
  imbalance: number;
}

/** Means over the seeds. */
function run(replicas: number, shareDelayMs?: number): Figures {
  const figures: Figures = { hitRate: 0, ttftMs: 0, imbalance: 0 };
  for (const seed of SEEDS) {
    const workload = jittered(trace, seededRandom(seed).fork('arrivals'), SPREAD_MS);
    const common = { workload, pool, config: 'default', createPicker, seed };
    const result = simulate({ ...common, replicas, shareDelayMs });
    const { hitRate, ttftMeanMs, failed } = summarize(result);
    expect(failed).toBe(0);
    const tokens = Array.from({ length: SERVERS }, () => 0);
    for (const { server, request, cachedTokens } of result.requests)
      tokens[server] = (tokens[server] ?? 0) + request.promptTokens - cachedTokens;
    const mean = tokens.reduce((sum, each) => sum + each, 0) / SERVERS;
    figures.hitRate += hitRate / SEEDS.length;
    figures.ttftMs += ttftMeanMs / SEEDS.length;
    figures.imbalance += Math.max(...tokens) / mean / SEEDS.length;
  }
  return figures;
}

describe('replicas in front of one pool', () => {
  it('[O151] four pickers that share decide as well as one, and without sharing worse', (context) => {
    const one = run(1);
    const shared = run(4, 1);
    const apart = run(4);
    const ratios = (figures: Figures): readonly number[] => [
      figures.hitRate / one.hitRate,
      figures.ttftMs / one.ttftMs,
      figures.imbalance / one.imbalance,
    ];
    const [hits = 0, ttft = 0, imbalance = 0] = ratios(shared);
    const [hitsApart = 0, ttftApart = 0] = ratios(apart);
    tellFigure(context, {
      what: 'four replicas over one: hit rate, mean TTFT, imbalance',
      promised: '≥ 0.97, ≤ 1.03, ≤ 1.1',
      measured: ratios(shared)
        .map((each) => each.toFixed(3))
        .join(', '),
    });
    tellFigure(context, {
      what: 'the same without sharing',
      promised: 'worse',
      measured: ratios(apart)
        .map((each) => each.toFixed(3))
        .join(', '),
    });
    expect(hits).toBeGreaterThanOrEqual(0.97);
    expect(ttft).toBeLessThanOrEqual(1.03);
    expect(imbalance).toBeLessThanOrEqual(1.1);
    expect(hitsApart).toBeLessThan(0.8);
    expect(ttftApart).toBeGreaterThan(1.15);
  });
});
