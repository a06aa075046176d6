import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planFrom } from '../../src/catalogue/plan.ts';
import type {
  Picker,
  ProfileResult,
  Scorer,
  WeightedScorer,
} from '../../src/framework/scheduling.ts';
import { createScheduler } from '../../src/picker/scheduling/schedule.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type EndpointFields, makeContext, makePool, makeRuntime } from '../makers.ts';
import { DECISION_TABLES, type DecisionTable } from './decision-tables.ts';

const SEEDS = 60;

/** The scorers, weights and picker of `reference-default`, without its data sources. */
function partsOf(): { scorers: readonly WeightedScorer[]; picker: Picker } {
  const { plugins = [] } = planFrom('reference-default').profiles[0] ?? {};
  const runtime = makeRuntime();
  const scorers: WeightedScorer[] = [];
  let picker: Picker | undefined;
  for (const { plugin, weight } of plugins) {
    const { name } = plugin;
    if (plugin.kind === 'scorer') {
      scorers.push({
        name,
        weight,
        scorer: plugin.definition.create(plugin.config, runtime),
      } as never);
    } else if (plugin.kind === 'picker') picker = plugin.definition.create(plugin.config, runtime);
  }
  if (picker === undefined) throw new Error('reference-default has no picker');
  return { scorers, picker };
}

function scheduled(
  { scorers, picker }: ReturnType<typeof partsOf>,
  { endpoints, matched = [], totalBlocks = 10 }: Omit<DecisionTable, 'what' | 'totals' | 'picks'>,
  seed: number,
): { readonly slot: number; readonly totals: readonly number[] } {
  const profile = { name: 'default', filters: [], scorers, picker };
  const handler = {
    next: (done: readonly ProfileResult[]) => (done.length === 0 ? profile : undefined),
    conclude: (done: readonly ProfileResult[]) => ({
      primary: done[0] as ProfileResult,
      headers: new Map<string, string>(),
      profiles: done,
    }),
  };
  const random = seededRandom(seed);
  const context = makeContext({ matchedBlocks: matched, totalBlocks, random });
  const { primary } = createScheduler(handler as never).schedule(makePool(endpoints), context);
  if (primary.kind !== 'picked') throw new Error('nothing was picked');
  const [target] = primary.targets;
  return {
    slot: target?.endpoint.slot ?? -1,
    totals: primary.run?.totals ?? [],
  };
}

/** The reference's formula once more, written down independently. */
function totalsByHand(
  endpoints: readonly Required<Pick<EndpointFields, 'waiting' | 'kv'>>[],
  matched: readonly number[],
  totalBlocks: number,
): readonly number[] {
  const waiting = endpoints.map((each) => each.waiting);
  const [least, most] = [Math.min(...waiting), Math.max(...waiting)];
  return endpoints.map((endpoint, at) => {
    const queue = most === least ? 1 : (most - endpoint.waiting) / (most - least);
    const prefix = totalBlocks === 0 ? 0 : (matched[at] ?? 0) / totalBlocks;
    return 2 * queue + 2 * Math.max(0, Math.min(1, 1 - endpoint.kv)) + 3 * prefix;
  });
}

describe('decisions of reference-default', () => {
  it.each(DECISION_TABLES.map((table) => [table.what, table] as const))(
    '[D128] %s',
    (_what, table) => {
      const parts = partsOf();
      const picks = new Set<number>();
      for (let seed = 0; seed < SEEDS; seed++) {
        const { slot, totals } = scheduled(parts, table, seed);
        picks.add(slot);
        totals.forEach((total, at) => expect(total).toBeCloseTo(table.totals[at] ?? Number.NaN, 9));
      }
      expect([...picks].sort((a, b) => a - b)).toEqual(table.picks);
    },
  );

  it('[D128] are those of the formula for any pool', () => {
    const parts = partsOf();
    const endpoint = fc.record({
      waiting: fc.nat(40),
      kv: fc.integer({ min: 0, max: 120 }).map((percent) => percent / 100),
      matched: fc.nat(20),
    });
    fc.assert(
      fc.property(
        fc.array(endpoint, { minLength: 1, maxLength: 12 }),
        fc.constantFrom(0, 20),
        fc.nat(1000),
        (pool, totalBlocks, seed) => {
          const matched = pool.map((each) => (totalBlocks === 0 ? 0 : each.matched));
          const input = { endpoints: pool, matched, totalBlocks };
          const { slot, totals } = scheduled(parts, input, seed);
          const wanted = totalsByHand(pool, matched, totalBlocks);
          totals.forEach((total, at) => expect(total).toBeCloseTo(wanted[at] ?? Number.NaN, 9));
          expect((wanted[slot] ?? 0) + 1e-9).toBeGreaterThanOrEqual(Math.max(...wanted));
        },
      ),
      { numRuns: 500, seed: 20_260_201 },
    );
  });

  it('[D394] a weight of 0 counts nothing, and a negative one turns a scorer round', () => {
    const { scorers, picker } = partsOf();
    const weighing = (queue: number, memory: number) => {
      const [first, second] = scorers;
      const weighed = [
        { ...first, weight: queue },
        { ...second, weight: memory },
      ] as never;
      const endpoints = [
        { waiting: 0, kv: 0.5 },
        { waiting: 4, kv: 0.25 },
      ];
      const { slot, totals } = scheduled({ scorers: weighed, picker }, { endpoints }, 1);
      return [slot, ...totals];
    };
    expect(scorers.slice(0, 2).map(({ name }) => name)).toEqual([
      'queue-scorer',
      'kv-cache-utilization-scorer',
    ]);
    expect(weighing(0, 1)).toEqual([1, 0.5, 0.75]);
    expect(weighing(-2, 1)).toEqual([1, -1.5, 0.75]);
    expect(weighing(-1, 0)).toEqual([1, -1, 0]);
  });

  it('[D129] clamp what a scorer gives outside 0 and 1, and show what counted', () => {
    const { picker } = partsOf();
    const odd: Scorer = { score: () => [-0.5, 1.5, 1, 0.25] };
    const even: Scorer = { score: () => [1, 0, 0, 0.5] };
    const scorers = [
      { name: 'odd', weight: 2, scorer: odd },
      { name: 'even', weight: 1, scorer: even },
    ] as never;
    const { totals } = scheduled({ scorers, picker }, { endpoints: [{}, {}, {}, {}] }, 1);
    expect(totals).toEqual([1, 2, 2, 1]);
    const picks = new Set<number>();
    for (let seed = 0; seed < SEEDS; seed++) {
      picks.add(scheduled({ scorers, picker }, { endpoints: [{}, {}, {}, {}] }, seed).slot);
    }
    expect([...picks].sort((a, b) => a - b)).toEqual([1, 2]);
  });
});
