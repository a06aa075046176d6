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
/** Without sharing they differ by far more than draws do. */
const SEEDS_APART = SEEDS.slice(0, 1);
const SPREAD_MS = 10_000;
const trace = readTrace('bench/traces/mooncake-conversation-5min.jsonl', { lenient: false });
const pool = uniformPool(SERVERS, {
  ...presetServer('llama-3.1-8b-h100'),
  labels: {},
  jitter: 0.05,
});

interface Figures {
  readonly hitRate: number;
  readonly ttftMs: number;
  /** The most tokens that one server computed, over the mean. */
  readonly imbalance: number;
}

function run(seed: number, replicas: number, shareDelayMs?: number): Figures {
  const workload = jittered(trace, seededRandom(seed).fork('arrivals'), SPREAD_MS);
  const common = { workload, pool, config: 'default', createPicker, seed };
  const result = simulate({ ...common, replicas, shareDelayMs });
  const { hitRate, ttftMeanMs, failed } = summarize(result);
  expect(failed).toBe(0);
  const tokens = Array.from({ length: SERVERS }, () => 0);
  for (const { server, request, cachedTokens } of result.requests)
    tokens[server] = (tokens[server] ?? 0) + request.promptTokens - cachedTokens;
  const mean = tokens.reduce((sum, each) => sum + each, 0) / SERVERS;
  return { hitRate, ttftMs: ttftMeanMs, imbalance: Math.max(...tokens) / mean };
}

/** Hit rate, time to the first token and imbalance over those of one picker, as means of draws. */
function ratios(some: readonly Figures[], one: readonly Figures[]): readonly number[] {
  const sum = (all: readonly Figures[], key: keyof Figures): number =>
    all.slice(0, some.length).reduce((total, figures) => total + figures[key], 0);
  return (['hitRate', 'ttftMs', 'imbalance'] as const).map((key) => sum(some, key) / sum(one, key));
}

describe('replicas in front of one pool', () => {
  it('[O151] four pickers that share decide as well as one, and without sharing worse', (context) => {
    const one = SEEDS.map((seed) => run(seed, 1));
    const shared = ratios(
      SEEDS.map((seed) => run(seed, 4, 1)),
      one,
    );
    const apart = ratios(
      SEEDS_APART.map((seed) => run(seed, 4)),
      one,
    );
    const shown = (figures: readonly number[]): string =>
      figures.map((each) => each.toFixed(3)).join(', ');
    tellFigure(context, {
      what: 'four replicas over one: hit rate, mean TTFT, imbalance',
      promised: '≥ 0.97, ≤ 1.03, ≤ 1.1',
      measured: shown(shared),
    });
    tellFigure(context, {
      what: 'the same without sharing',
      promised: 'worse',
      measured: shown(apart),
    });
    const [hits, ttft, imbalance] = shared;
    expect(hits).toBeGreaterThanOrEqual(0.97);
    expect(ttft).toBeLessThanOrEqual(1.03);
    expect(imbalance).toBeLessThanOrEqual(1.1);
    const [hitsApart, ttftApart] = apart;
    expect(hitsApart).toBeLessThan(0.8);
    expect(ttftApart).toBeGreaterThan(1.15);
  });
});
