import { describe, expect, test } from 'vitest';
import { FlowControlBench, makeBand } from '../../../../test/decision/flow-control-bench.ts';
import { makeRequest, NOW } from '../../../../test/makers.ts';
import { seededRandom } from '../../../runtime/seeded-random.ts';
import type { Waiting } from '../../discipline.ts';
import type { Fairness } from './fairness.ts';
import { Programs } from './programs.ts';

const SEED = 19;
const HOUR_MS = 3_600_000;

function benchOf(fairness: string, capacity = 1): FlowControlBench {
  return new FlowControlBench(
    { defaultBand: makeBand({ fairness, maxRequests: 50_000 }) },
    capacity,
  );
}

const flowsOf = (waiting: readonly Waiting[]): string =>
  waiting.map(({ request }) => request.fairnessId).join(' ');

/** Jain's index: 1 where all are equal. */
function jain(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  return sum ** 2 / (shares.length * shares.reduce((total, share) => total + share ** 2, 0));
}

interface Tenant {
  readonly id: string;
  /** Requests that it has waiting at any time. */
  readonly waiting: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** Serves so many requests of tenants that always have some waiting; tokens by tenant. */
function serve(
  bench: FlowControlBench,
  tenants: readonly Tenant[],
  seed: number,
): readonly number[] {
  const random = seededRandom(seed);
  const vary = (tokens: number): number => Math.ceil(tokens * (0.5 + random.next()));
  const tokens = new Map(tenants.map(({ id }) => [id, 0]));
  const send = ({ id, promptTokens }: Tenant, at: number): Waiting =>
    bench.wait({ fairnessId: id, promptTokens: vary(promptTokens) }, at);
  for (const tenant of tenants) for (let n = 0; n < tenant.waiting; n++) send(tenant, NOW);
  let running: Waiting[] = [];
  for (let round = 0; round < 1000; round++) {
    const at = NOW + round;
    for (const one of bench.place(at)) {
      running.push(one);
      send(tenants.find(({ id }) => id === one.request.fairnessId) as Tenant, at);
    }
    const [ended, rest] = [running.slice(0, 4), running.slice(4)];
    running = rest;
    for (const one of ended) {
      const { fairnessId, promptTokens } = one.request;
      const outputTokens = vary(tenants.find(({ id }) => id === fairnessId)?.outputTokens ?? 0);
      tokens.set(fairnessId, (tokens.get(fairnessId) ?? 0) + promptTokens + outputTokens);
      bench.end(one, at, { outputTokens });
    }
  }
  return [...tokens.values()];
}

describe('global strict', () => {
  test('[Q44] serves the first request of all flows, however many of one flow come before', () => {
    const bench = benchOf('strict', 10);
    for (const fairnessId of ['a', 'a', 'b', 'a']) bench.wait({ fairnessId });
    expect(flowsOf(bench.place())).toBe('a a b a');
  });
});

describe('round robin', () => {
  test('[Q45] serves one request of each flow in turn, in the order of the ids', () => {
    const bench = benchOf('robin', 100);
    for (const fairnessId of ['b', 'b', 'b', 'a', 'c', 'a']) bench.wait({ fairnessId });
    expect(flowsOf(bench.place(NOW, 2))).toBe('a b');
    bench.wait({ fairnessId: 'a' });
    expect(flowsOf(bench.place())).toBe('c a b a b');
  });

  test('[Q45] goes on with the next flow where a request cannot be placed', () => {
    const bench = benchOf('robin', 100);
    for (const fairnessId of ['a', 'a', 'b']) bench.wait({ fairnessId });
    const seen: Waiting[] = [];
    for (const { requests } of bench.control.ready(NOW)) seen.push(...requests);
    expect(flowsOf(seen)).toBe('a b a');
    expect(flowsOf(bench.place())).toBe('a b a');
  });
});

describe('round robin beside another replica', () => {
  const elsewhere = (bench: FlowControlBench, fairnessId: string, times: number): void => {
    for (let n = 0; n < times; n++) {
      bench.control.placedElsewhere(makeRequest({ fairnessId }), NOW);
    }
  };

  test('[O177] passes over a flow once for each turn that it had there, eight times at most', () => {
    const bench = benchOf('robin', 1000);
    for (let n = 0; n < 20; n++) for (const fairnessId of ['a', 'b']) bench.wait({ fairnessId });
    elsewhere(bench, 'a', 2);
    expect(flowsOf(bench.place(NOW, 5))).toBe('b b a b a');
    elsewhere(bench, 'b', 100);
    expect(flowsOf(bench.place(NOW, 10))).toBe('a a a a a a a a b a');
  });

  test('[O177] forgets turns of a flow that has nothing waiting', () => {
    const bench = benchOf('robin', 1000);
    elsewhere(bench, 'a', 5);
    for (const fairnessId of ['a', 'b', 'a', 'b']) bench.wait({ fairnessId });
    expect(flowsOf(bench.place())).toBe('a b a b');
  });

  test('[O177] serves flows that all had turns there as if none had', () => {
    const bench = benchOf('robin', 1000);
    for (const fairnessId of ['a', 'b', 'a', 'b']) bench.wait({ fairnessId });
    for (const fairnessId of ['a', 'b']) elsewhere(bench, fairnessId, 3);
    expect(flowsOf(bench.place())).toBe('a b a b');
  });
});

const THREE: readonly Tenant[] = [
  { id: 'small', waiting: 20, promptTokens: 100, outputTokens: 50 },
  { id: 'large', waiting: 20, promptTokens: 2000, outputTokens: 400 },
  { id: 'flood', waiting: 160, promptTokens: 300, outputTokens: 100 },
];

describe('shares by tokens', () => {
  test('[Q46] equal weights get equal tokens, whatever a tenant sends and asks for', () => {
    const shares = serve(benchOf('tokens', 12), THREE, SEED);
    expect(jain(shares)).toBeGreaterThanOrEqual(0.98);
  });

  test('[Q46] weights 1, 2 and 4 get tokens in that ratio', () => {
    const tenants = ['one', 'two', 'four'].map((id, at) => ({ ...(THREE[at] as Tenant), id }));
    const [one = 0, two = 0, four = 0] = serve(benchOf('weighted', 12), tenants, SEED);
    expect(Math.abs(two / one / 2 - 1)).toBeLessThan(0.03);
    expect(Math.abs(four / one / 4 - 1)).toBeLessThan(0.03);
  });

  /** How many of the next requests are those of `back`, beside one that always has some waiting. */
  function servedOf(bench: FlowControlBench, count: number): number {
    const next: Waiting[] = [];
    while (next.length < count) {
      for (const one of bench.place()) {
        next.push(one);
        bench.end(one);
      }
    }
    return next.filter(({ request }) => request.fairnessId === 'back').length;
  }

  test('[Q47] a flow that is new has saved nothing up', () => {
    const bench = benchOf('tokens', 1);
    for (let n = 0; n < 40; n++) bench.wait({ fairnessId: 'busy' });
    servedOf(bench, 20);
    for (let n = 0; n < 20; n++) bench.wait({ fairnessId: 'back' });
    expect(servedOf(bench, 10)).toBeLessThanOrEqual(6);
  });

  test('[Q47] a flow that comes back after a pause has saved up a few requests at most', () => {
    const bench = benchOf('tokens', 1);
    for (let n = 0; n < 80; n++) bench.wait({ fairnessId: 'busy' });
    bench.wait({ fairnessId: 'back' });
    servedOf(bench, 40);
    for (let n = 0; n < 20; n++) bench.wait({ fairnessId: 'back' });
    expect(servedOf(bench, 6)).toBeGreaterThanOrEqual(5);
    expect(servedOf(bench, 14)).toBeLessThanOrEqual(10);
  });
});

/** The accounts that metrics read, after so many programs with one request each. */
function programsAfter(count: number): number {
  const programs = new Programs({ idleMs: 0, sweepMs: 0, halfLifeMs: 0, perSecond: 1 });
  for (let n = 0; n < count; n++) {
    const request = makeRequest({ fairnessId: `p${n}` });
    programs.placed(`p${n}`, 0, NOW);
    programs.ended(request, { promptTokens: 1, outputTokens: 1, latencyMs: 1 }, NOW);
  }
  return [...programs.all()].length;
}

test('[Q155] programs that never come again are forgotten, also without a time for it', () => {
  expect(programsAfter(20_000)).toBe(20_000);
  expect(programsAfter(200_000)).toBeLessThanOrEqual(20_000);
});

test('[Q155] flows that never come again are forgotten, also with a debt: the oldest first', () => {
  const bench = benchOf('tokens', 1);
  const serveOne = (fairnessId: string): void => {
    bench.wait({ fairnessId, promptTokens: 10_000 });
    for (const one of bench.place()) bench.end(one);
  };
  const isFirst = (): boolean => {
    for (const fairnessId of ['one', 'new']) bench.wait({ fairnessId });
    const [first] = bench.place();
    if (first !== undefined) bench.end(first);
    for (const one of bench.place()) bench.end(one);
    return first?.request.fairnessId === 'one';
  };
  serveOne('one');
  // It owes what it got; the other one has got nothing.
  expect(isFirst()).toBe(false);
  for (let n = 0; n < 12_000; n++) serveOne(`f${n}`);
  // Its debt is forgotten: it came first.
  expect(isFirst()).toBe(true);
});

describe('programs', () => {
  test('[Q48] the program that got the least service is next; half is forgotten in a half-life', () => {
    const serveOne = (bench: FlowControlBench, at: number): string => {
      const [one] = bench.place(at);
      if (one === undefined) return '';
      bench.end(one, at, { outputTokens: 100 });
      return one.request.fairnessId;
    };
    const second = (pauseMs: number): string => {
      const bench = benchOf('least', 1);
      bench.wait({ fairnessId: 'heavy', promptTokens: 10_000 });
      serveOne(bench, NOW);
      const at = NOW + pauseMs;
      bench.wait({ fairnessId: 'light', promptTokens: 1000 }, at);
      serveOne(bench, at);
      bench.wait({ fairnessId: 'heavy' }, at);
      bench.wait({ fairnessId: 'light' }, at);
      return serveOne(bench, at);
    };
    // 10,200 against 1,200: after four half-lives 638 are left.
    expect(second(180_000)).toBe('light');
    expect(second(240_000)).toBe('heavy');
  });

  test('[Q48] a first request that has waited long counts, too', () => {
    const bench = benchOf('least', 1);
    bench.wait({ fairnessId: 'new' }, NOW + 10);
    bench.wait({ fairnessId: 'old' }, NOW);
    expect(flowsOf(bench.place(NOW + 20))).toBe('old');
  });

  test('[Q48] what a program gets counts, too, if it was forgotten while it had requests', () => {
    const bench = benchOf('least', 1);
    const after = NOW + HOUR_MS + 1;
    for (let n = 0; n < 3; n++) bench.wait({ fairnessId: 'heavy', promptTokens: 10_000 });
    bench.wait({ fairnessId: 'light', promptTokens: 10 }, NOW + 1);
    // Another one that comes more than an hour later has those that are idle forgotten.
    const { programs } = bench.control.bands.fairness.get('least') as Fairness;
    programs?.of('other', after);
    const [first] = bench.place(after);
    bench.end(first as Waiting, after);
    expect(first?.request.fairnessId).toBe('heavy');
    expect(flowsOf(bench.place(after))).toBe('light');
  });

  test('[Q49] a program with more turns is next, unless another has waited for as many seconds', () => {
    const next = (waitedMs: number, pauseMs = 0): string => {
      const bench = benchOf('turns', 1);
      for (let turn = 0; turn < 4; turn++) {
        bench.wait({ fairnessId: 'deep' });
        for (const one of bench.place()) bench.end(one);
      }
      const at = NOW + pauseMs + waitedMs;
      bench.wait({ fairnessId: 'new' }, NOW + pauseMs);
      bench.wait({ fairnessId: 'deep' }, at);
      return flowsOf(bench.place(at));
    };
    // Turn 5 against turn 1: at 0.05 turns a second, 80 seconds make up for four turns.
    expect(next(79_000)).toBe('deep');
    expect(next(81_000)).toBe('new');
    // After a pause of two minutes a program begins at its first turn again.
    expect(next(1000, 120_000)).toBe('new');
  });
});
