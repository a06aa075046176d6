import { expect, it } from 'vitest';
import { FakeRulesApi, PLURALS } from '../../../../../test/support/kubernetes/fake-rules-api.ts';
import { UNPACED } from '../../../../../test/support/kubernetes/unpaced.ts';
import { inLongRuns } from '../../../../../test/support/long-runs.ts';
import { UnsteadyClock } from '../../../../../test/support/unsteady-clock.ts';
import type { Millis, Random } from '../../../../framework/runtime.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import { RequestRules } from '../../../rewrites/request-rules.ts';
import { followRules } from './follow-rules.ts';

const OBJECTS = 8;
const [ROUNDS, STEPS] = [5, 150];
/** A list that no answer comes to is given up after a minute. */
const CALM_MS: Millis = 180_000;
/** So often answers that have been asked for may come. */
const SLICE_MS: Millis = 500;
const ODD_SPECS = [null, 'text', [], {}, { priority: 1 }, { poolRef: 'pool', rules: {} }];

/** An object, and what it makes of the rules of a pool without labels, and of one with `a: b`. */
interface Case {
  readonly spec: unknown;
  readonly createdAt: string;
  readonly isOurs: (hasLabel: boolean) => boolean;
  readonly value: unknown;
}

function pick<T>(random: Random, from: readonly [T, ...T[]]): T {
  return from[Math.floor(random.next() * from.length)] ?? from[0];
}

function objectiveCase(random: Random): Case {
  const createdAt = '';
  if (random.next() < 0.15) {
    const spec = pick<unknown>(random, [null, ...ODD_SPECS]);
    return { spec, createdAt, isOurs: () => false, value: undefined };
  }
  const [priority, isValid] = pick<readonly [unknown, boolean]>(random, [
    [7, true],
    [-3, true],
    [undefined, true],
    [1.5, false],
    ['7', false],
    [2 ** 40, false],
  ]);
  const name = pick(random, ['pool', 'pool', 'pool', 'other']);
  const target = pick<object>(random, [
    { poolRef: { name } },
    { poolRefs: [{ name: 'third' }, { name }] },
    { poolSelector: { matchLabels: { a: 'b' } } },
  ]);
  const isSelected = 'poolSelector' in target;
  return {
    spec: { ...target, priority },
    createdAt,
    isOurs: (hasLabel) => isValid && (isSelected ? hasLabel : name === 'pool'),
    value: priority ?? 0,
  };
}

function rewriteCase(random: Random): Case {
  const createdAt = `2026-01-01T00:00:0${Math.floor(random.next() * 3)}Z`;
  const model = pick(random, ['chat', 'code', 'draw']);
  const name = pick(random, ['pool', 'pool', 'pool', 'other']);
  const weight = pick(random, [1, 5, undefined, 0]);
  const to = `${model}-${Math.floor(random.next() * 1000)}`;
  const matches = [{ model: { type: 'Exact', value: model } }];
  const targets = [{ modelRewrite: to, weight }];
  return {
    spec: { poolRef: { name }, rules: [{ matches, targets }] },
    createdAt,
    isOurs: () => weight !== 0 && name === 'pool',
    value: { models: [model], targets: [{ model: to, weight }] },
  };
}

type Cases = Readonly<Record<(typeof PLURALS)[number], Map<string, Case>>>;

interface ChangeParts {
  readonly random: Random;
  readonly api: FakeRulesApi;
  readonly cases: Cases;
}

/** Creates, changes or deletes an object. */
function changeOne({ random, api, cases }: ChangeParts): void {
  const plural = pick(random, PLURALS);
  const name = `o${Math.floor(random.next() * OBJECTS)}`;
  const drawn = plural === 'inferenceobjectives' ? objectiveCase(random) : rewriteCase(random);
  if (random.next() < 0.3) {
    cases[plural].delete(name);
    api.put(plural, name, undefined);
    return;
  }
  cases[plural].set(name, drawn);
  const metadata = { namespace: 'n', creationTimestamp: drawn.createdAt };
  api.put(plural, name, { metadata, spec: drawn.spec });
}

/** The rules that all objects make: of rewrites the oldest first. */
function rulesOf(cases: Cases, hasLabel: boolean) {
  const ours = (all: Iterable<readonly [string, Case]>): readonly (readonly [string, Case])[] =>
    [...all].filter(([, { isOurs }]) => isOurs(hasLabel));
  const keyOf = ([name, { createdAt }]: readonly [string, Case]): string => `${createdAt} ${name}`;
  return {
    priorities: Object.fromEntries(
      ours(cases.inferenceobjectives).map(([name, { value }]) => [name, value]),
    ),
    rewrites: ours(cases.inferencemodelrewrites)
      .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
      .map(([rule, { value }]) => ({ rule, ...(value as object) })),
  };
}

/** What is asked for is answered within some turns of the loop, without time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await new Promise((done) => setImmediate(done));
}

function storm(seed: number) {
  const random = seededRandom(seed);
  const clock = new UnsteadyClock(random.fork('clock'));
  const api = new FakeRulesApi(random.fork('api'), clock);
  const rules = new RequestRules(random.fork('rules'));
  const pool = { namespace: 'n', name: 'pool', group: 'g', version: 'v1', labels: {} };
  let settled = 0;
  const follower = followRules({
    server: { access: api.access, pace: UNPACED },
    pool,
    rules,
    clock,
    random: random.fork('informers'),
    onSettled: () => {
      settled += 1;
    },
    onTrouble: () => undefined,
  });
  const cases: Cases = { inferenceobjectives: new Map(), inferencemodelrewrites: new Map() };
  const relabel = (): void => {
    pool.labels = random.next() < 0.5 ? { a: 'b' } : {};
    follower.poolChanged();
  };
  const found = () => ({
    priorities: Object.fromEntries(rules.priorities),
    rewrites: rules.rewrites,
  });
  const run = async (ms: Millis): Promise<void> => {
    for (let left = ms; left >= 0; left -= SLICE_MS) {
      await clock.runFor(Math.min(left, SLICE_MS));
      await settle();
    }
  };
  return {
    random,
    clock,
    api,
    follower,
    change: () => changeOne({ random, api, cases }),
    relabel,
    wanted: () => rulesOf(cases, 'a' in pool.labels),
    found,
    run,
    settled: () => settled,
  };
}

it.each([1, 2, ...inLongRuns(3, 4, 5, 6, 7, 8)])(
  '[V615] the rules are those of the objects once the API server works, whatever it answered before, seed %i',
  async (seed) => {
    const { random, clock, api, follower, ...bed } = storm(seed);
    for (let round = 0; round < ROUNDS; round++) {
      for (let step = 0; step < STEPS; step++) {
        api.faults = pick(random, [0, 0.1, 0.5]);
        const what = random.next();
        if (what < 0.7) bed.change();
        else if (what < 0.8) api.cutWatches();
        else if (what < 0.85) bed.relabel();
        else if (what < 0.9) api.isInstalled = random.next() < 0.8;
        if (random.next() < 0.2) api.compact();
        await bed.run(random.next() < 0.5 ? 0 : random.next() ** 3 * 40_000);
      }
      api.faults = 0;
      api.isInstalled = true;
      await bed.run(CALM_MS);
      expect(bed.found()).toEqual(bed.wanted());
      bed.relabel();
      await bed.run(2000);
      expect(bed.found()).toEqual(bed.wanted());
      expect([follower.synced, bed.settled()]).toEqual([true, 1]);
      const isOfObject = (sentence: string): boolean => sentence.includes(' is not followed: ');
      expect(follower.troubles.filter((each) => !isOfObject(each))).toEqual([]);
    }
    const { lists, watches, faults, gone } = api.counts;
    // Far fewer would be a world in which nothing is tried.
    expect(Math.min(lists, watches, faults, 10 * gone)).toBeGreaterThan(50);
    follower.stop();
    await settle();
    expect(clock.pending).toBe(0);
  },
);
