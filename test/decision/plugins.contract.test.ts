import { describe, expect, it } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { type Endpoint, isFresh } from '../../src/framework/endpoint.ts';
import { ConfigError } from '../../src/framework/error.ts';
import { LORA } from '../../src/framework/keys.ts';
import type { Observer } from '../../src/framework/observer.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { Random } from '../../src/framework/runtime.ts';
import type {
  Filter,
  ProfileResult,
  SchedulingContext,
  SchedulingProfile,
  ScoredEndpoint,
  Scorer,
  ScoreTerms,
} from '../../src/framework/scheduling.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import {
  type EndpointFields,
  makeContext,
  makeEndpoint,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
  NEVER,
  NOW,
} from '../makers.ts';

/**
 * The rules of SPEC.md's section Plugins, run against every plugin of the catalogue: who adds one to it need do nothing.
 * Only a type that cannot be made without parameters names some here.
 */
const PARAMETERS: Readonly<Record<string, unknown>> = {
  'endpoint-attribute-filter': {
    attribute: 'KVCacheUsagePercent',
    algorithm: { type: 'threshold', threshold: { operator: 'LessThan', value: 0.8 } },
  },
  'endpoint-attribute-weight-scorer': {
    attributeKey: 'gpu',
    producer: 'l',
    weights: { h200: 2 },
  },
  'label-producer': { label: 'gpu', attributeKey: 'gpu' },
  'endpoint-attribute-scorer': {
    attributeKey: 'KVCacheUsagePercent',
    algorithm: { type: 'linear_lower_is_better' },
  },
  'header-label-affinity-scorer': { headerName: 'x-role', labelKey: 'llm-d.ai/role' },
  'role-minimum-filter': { minReady: { decode: 1 } },
  'utilization-filter': { conditions: [{ metric: 'waiting-queue', maxValue: 20 }] },
  'by-label': { label: 'llm-d.ai/role', validValues: ['decode', 'both'] },
  'label-selector-filter': {
    matchExpressions: [{ key: 'llm-d.ai/role', operator: 'In', values: ['decode', 'both'] }],
  },
};

const SEED = 20_260_101;
const SIZES = [0, 1, 2, 17, 256];
const catalogue = EMBEDDED_CATALOGUE;
const runtime = makeRuntime(SEED);

function parametersOf(type: string): unknown {
  return PARAMETERS[type] ?? {};
}

/** Whole numbers from a small range, so that ties occur. */
function draw(random: Random, below: number): number {
  return Math.floor(random.next() * below);
}

type Freshness = 'fresh' | 'stale' | 'never';

function randomFields(random: Random, freshness: Freshness): EndpointFields {
  const role = ['decode', 'prefill', 'both', 'encode', undefined][draw(random, 5)];
  const idle = freshness !== 'fresh';
  const lora = {
    running: new Set(draw(random, 2) === 0 ? ['m'] : ['other']),
    waiting: new Set(draw(random, 2) === 0 ? ['m'] : []),
    max: draw(random, 3),
  };
  return {
    ...(role !== undefined && { labels: { 'llm-d.ai/role': role } }),
    // One that is not scraped shows zeros, which must not pass for idleness.
    waiting: idle ? 0 : draw(random, 9) * draw(random, 50),
    running: idle ? 0 : draw(random, 9),
    kv: idle ? 0 : draw(random, 5) / 4,
    sampledAt: { fresh: NOW - draw(random, 50), stale: NOW - 60_000, never: NEVER }[freshness],
    attributes: freshness === 'never' || draw(random, 2) === 0 ? [] : [[LORA as never, lora]],
  };
}

interface World {
  readonly endpoints: readonly Endpoint[];
  readonly context: SchedulingContext;
}

const KINDS: Readonly<Record<string, readonly Freshness[]>> = {
  'all fresh': ['fresh'],
  'none scraped': ['never'],
  'all stale': ['stale'],
  mixed: ['fresh', 'stale', 'never'],
};

/** `context()` anew for each call, so that each call draws the same chance. */
function world(
  { size, kinds, needs }: { size: number; kinds: readonly Freshness[]; needs: ReadonlySet<string> },
  seed = SEED,
): { endpoints: readonly Endpoint[]; context: () => SchedulingContext } {
  const random = seededRandom(seed + size);
  const each = <T>(make: () => T): readonly T[] => Array.from({ length: size }, make);
  const endpoints = makePool(
    each(() => randomFields(random, kinds[draw(random, kinds.length)] ?? 'fresh')),
  );
  const load = each(() => ({
    requests: draw(random, 20),
    pendingPrefillTokens: draw(random, 9) * 1000,
    contextTokens: draw(random, 9) * 50_000,
  }));
  const matchedBlocks = each(() => Math.max(0, draw(random, 14) - 4));
  const request = makeRequest({ headers: new Map([['x-session-id', 's1']]) });
  return {
    endpoints,
    context: () => makeContext({ request, needs, load, matchedBlocks, random: seededRandom(seed) }),
  };
}

/** All that a plugin can hear, about every endpoint of a pool, in an order of chance. */
function tell(observer: Observer, endpoints: readonly Endpoint[], seed = SEED): void {
  const random = seededRandom(seed);
  for (const endpoint of endpoints) observer.onEndpointAdded?.(endpoint);
  for (let turn = 0; turn < 3 * endpoints.length; turn++) {
    const endpoint = endpoints[draw(random, endpoints.length)];
    if (endpoint === undefined) return;
    const request = makeRequest({
      id: `told-${turn}`,
      headers: new Map([['x-session-id', `s${draw(random, 4)}`]]),
    });
    const routed = makeRouted(endpoint, { request, cachedTokens: draw(random, 2) * 64 });
    observer.onRouted?.(routed);
    observer.onBodyRead?.(routed, request);
    observer.onFirstToken?.(routed, NOW + 1);
    observer.onAnswered?.(routed, request.prompt);
    const outcome = (['completed', 'aborted', 'failed'] as const)[draw(random, 3)] ?? 'failed';
    observer.onDone?.(routed, NOW + 2, outcome, undefined);
    observer.onEndpointChanged?.(endpoint, endpoint);
  }
}

function expectScores(scores: readonly number[], size: number): void {
  expect(scores).toHaveLength(size);
  expect(scores.filter((score) => !(score >= 0 && score <= 1))).toEqual([]);
}

/** Whether the scorer looks at anything that was scraped. */
function readsScraped(scorer: Scorer, { endpoints, context }: World): boolean {
  let read = false;
  const watched = endpoints.map(
    (endpoint) =>
      new Proxy(endpoint, {
        get(target, name) {
          if (name === 'metrics' || name === 'attribute') read = true;
          return Reflect.get(target, name);
        },
      }),
  );
  // Frozen targets forbid a proxy to answer differently, not to look on.
  scorer.score(watched, context);
  return read;
}

/** The names of the headers that are looked for while something happens with a request. */
function headersReadIn(happen: (request: InferenceRequest) => void): ReadonlySet<string> {
  const names = new Set<string>();
  const headers = new Map([['x-session-id', 's1']]);
  const watched: ReadonlyMap<string, string> = new Proxy(headers, {
    get(target, name) {
      if (name !== 'get' && name !== 'has') throw new Error(`reads all headers: ${String(name)}`);
      return (header: string) => {
        names.add(header);
        return target[name](header);
      };
    },
  });
  happen(makeRequest({ headers: watched }));
  return names;
}

for (const definition of catalogue.scorers) {
  describe(`${definition.type} keeps the scorer contract`, () => {
    const config = definition.config.parse(parametersOf(definition.type));
    const needs = new Set(definition.needs?.(config).map(({ name }) => name));
    const create = (): ReturnType<typeof definition.create> => definition.create(config, runtime);

    it.each(Object.entries(KINDS))(
      '[S1] gives one score in [0, 1] per endpoint, %s',
      (_name, kinds) => {
        for (const size of SIZES) {
          const scorer = create();
          const { endpoints, context } = world({ size, kinds, needs });
          expectScores(scorer.score(endpoints, context()), size);
          tell(scorer, endpoints);
          expectScores(scorer.score(endpoints, context()), size);
        }
      },
    );

    it.each(Object.entries(KINDS))(
      '[S2] scores an endpoint the same wherever it stands, %s',
      (_name, kinds) => {
        const scorer = create();
        const { endpoints, context } = world({ size: 17, kinds, needs });
        tell(scorer, endpoints);
        const byId = (order: readonly Endpoint[]): ReadonlyMap<string, number | undefined> => {
          const scores = scorer.score(order, context());
          return new Map(order.map(({ id }, index) => [id, scores[index]]));
        };
        expect(byId(endpoints.toReversed())).toEqual(byId(endpoints));
        expect(byId([...endpoints.slice(5), ...endpoints.slice(0, 5)])).toEqual(byId(endpoints));
      },
    );

    it('[S3] answers the same question the same way again, whatever was asked between', () => {
      const scorer = create();
      const { endpoints, context } = world({ size: 17, kinds: ['fresh'], needs });
      tell(scorer, endpoints);
      const first = scorer.score(endpoints, context());
      const other = world({ size: 9, kinds: ['fresh', 'never'], needs }, SEED + 1);
      scorer.score(other.endpoints, other.context());
      expect(scorer.score(endpoints, context())).toEqual(first);
    });

    it('[S4] refuses parameters it does not know', () => {
      expect(() => definition.config.parse({ nonsense: 1 })).toThrow();
    });

    it('[S5] ranks no endpoint of unknown state above the best known one, if it reads state', () => {
      for (let seed = SEED; seed < SEED + 40; seed++) {
        const scorer = create();
        const { endpoints, context } = world(
          { size: 17, kinds: ['fresh', 'stale', 'never'], needs },
          seed,
        );
        if (!readsScraped(scorer, { endpoints, context: context() })) return;
        const scores = scorer.score(endpoints, context());
        const highest = (fresh: boolean): number =>
          Math.max(...scores.filter((_, at) => isFresh(endpoints[at] as Endpoint, NOW) === fresh));
        expect(highest(false), `seed ${seed}`).toBeLessThanOrEqual(highest(true));
      }
    });

    it('[S6] forgets an endpoint that goes: its successor starts as one never heard of', () => {
      const scorer = create();
      const { endpoints, context } = world({ size: 17, kinds: ['fresh'], needs });
      tell(scorer, endpoints);
      for (const endpoint of endpoints) scorer.onEndpointRemoved?.(endpoint);
      expect(scorer.score(endpoints, context())).toEqual(create().score(endpoints, context()));
    });

    it('[S7] reads those headers of a request that it says it reads, and no other', () => {
      const { endpoints, context } = world({ size: 17, kinds: ['fresh'], needs });
      const read = headersReadIn((request) => {
        const scorer = create();
        for (const endpoint of endpoints) {
          scorer.onRouted?.(makeRouted(endpoint, { request }));
          scorer.onDone?.(makeRouted(endpoint, { request }), NOW + 2, 'completed', undefined);
        }
        scorer.score(endpoints, { ...context(), request });
      });
      expect([...read]).toEqual(definition.headers?.(config).map(({ name }) => name) ?? []);
    });

    it.each(Object.entries(KINDS))(
      '[S8] explains by the same finite terms every time and changes nothing, if it explains, %s',
      (_name, kinds) => {
        const scorer = create();
        if (scorer.explain === undefined) return;
        const { endpoints, context } = world({ size: 17, kinds, needs });
        tell(scorer, endpoints);
        const scoring = context();
        const scores = scorer.score(endpoints, scoring);
        const explain = (): readonly ScoreTerms[] =>
          endpoints.map((endpoint) => scorer.explain?.(endpoint, scoring) ?? {});
        const explained = explain();
        for (const terms of explained) {
          expect(Object.keys(terms)).toEqual(Object.keys(explained[0] ?? {}));
          expect(Object.keys(terms)).not.toHaveLength(0);
          expect(Object.values(terms).filter((value) => !Number.isFinite(value))).toEqual([]);
        }
        expect(explain()).toEqual(explained);
        expect(scorer.score(endpoints, scoring)).toEqual(scores);
      },
    );
  });
}

for (const definition of catalogue.filters) {
  describe(`${definition.type} keeps the filter contract`, () => {
    const config = definition.config.parse(parametersOf(definition.type));
    const needs = new Set(definition.needs?.(config).map(({ name }) => name));
    const filter: Filter & Observer = definition.create(config, runtime);
    const pools = SIZES.flatMap((size) =>
      Object.values(KINDS).map((kinds) => world({ size, kinds, needs })),
    );

    it('[F1] keeps some of what it is given, as it was and in that order', () => {
      for (const { endpoints, context } of pools) {
        const kept = filter.filter(endpoints, context());
        expect(kept).toEqual(endpoints.filter((endpoint) => kept.includes(endpoint)));
        expect(new Set(kept).size).toBe(kept.length);
      }
    });

    it('[F2] gives the same answer again', () => {
      for (const { endpoints, context } of pools) {
        expect(filter.filter(endpoints, context())).toEqual(filter.filter(endpoints, context()));
      }
    });

    it('[F3] keeps an endpoint wherever it stands', () => {
      for (const { endpoints, context } of pools) {
        expect(filter.filter(endpoints.toReversed(), context()).toReversed()).toEqual(
          filter.filter(endpoints, context()),
        );
      }
    });

    it('[F4] makes nothing of nothing', () => {
      const { context } = world({ size: 0, kinds: ['fresh'], needs });
      expect(filter.filter([], context())).toEqual([]);
    });

    it('[F5] refuses parameters it does not know', () => {
      const known = parametersOf(definition.type) as object;
      expect(() => definition.config.parse({ ...known, nonsense: 1 })).toThrow();
    });

    it('[F6] reads those headers of a request that it says it reads, and no other', () => {
      const { endpoints, context } = world({ size: 17, kinds: ['fresh'], needs });
      const read = headersReadIn((request) => {
        const own: Filter & Observer = definition.create(config, runtime);
        for (const endpoint of endpoints) own.onRouted?.(makeRouted(endpoint, { request }));
        own.filter(endpoints, { ...context(), request });
      });
      expect([...read]).toEqual(definition.headers?.(config).map(({ name }) => name) ?? []);
    });
  });
}

function candidates(scores: readonly number[]): readonly ScoredEndpoint[] {
  return Object.freeze(
    scores.map((score, slot) =>
      Object.freeze({ endpoint: makeEndpoint(`pod-${slot}`, { slot }), score }),
    ),
  );
}

/** 5 standard deviations of a count: a fair picker fails one seed in a million, and the seed is pinned. */
function toleranceOf(draws: number, probability: number): number {
  return 5 * Math.sqrt(draws * probability * (1 - probability));
}

for (const definition of catalogue.pickers) {
  describe(`${definition.type} keeps the picker contract`, () => {
    const picker = (maxNumOfEndpoints?: number): ReturnType<typeof definition.create> =>
      definition.create(
        definition.config.parse(maxNumOfEndpoints === undefined ? {} : { maxNumOfEndpoints }),
        runtime,
      );
    const score = seededRandom(SEED);
    const sets = SIZES.filter((size) => size > 0).flatMap((size) => [
      candidates(Array.from({ length: size }, () => score.next() * 7)),
      candidates(Array.from({ length: size }, () => 1)),
      candidates(Array.from({ length: size }, () => 0)),
    ]);

    it('[K1] picks at least one candidate, each at most once, never more than asked for', () => {
      for (const set of sets) {
        for (const most of [1, 3, 1000]) {
          const picked = picker(most).pick(set, makeContext());
          expect(picked.length).toBeGreaterThan(0);
          expect(picked.length).toBeLessThanOrEqual(Math.min(most, set.length));
          expect(new Set(picked).size).toBe(picked.length);
          expect(picked.filter((each) => !set.includes(each))).toEqual([]);
        }
      }
    });

    it('[K2] picks the same again from the same stream of chance', () => {
      for (const set of sets) {
        const pick = (): readonly ScoredEndpoint[] =>
          picker(3).pick(set, makeContext({ random: seededRandom(SEED) }));
        expect(pick()).toEqual(pick());
      }
    });

    it.each([1, 0])('[K3] spreads ties evenly, at score %d', (tied) => {
      const set = candidates(Array.from({ length: 8 }, () => tied));
      const one = picker();
      const several = picker(3);
      const random = seededRandom(SEED);
      const draws = 8000;
      const first = new Map<ScoredEndpoint, number>();
      const second = new Map<ScoredEndpoint, number>();
      for (let turn = 0; turn < draws; turn++) {
        const context = makeContext({ random: random.fork(`r${turn}`) });
        const [single] = one.pick(set, context);
        const [, fallback] = several.pick(set, context);
        if (single !== undefined) first.set(single, (first.get(single) ?? 0) + 1);
        if (fallback !== undefined) second.set(fallback, (second.get(fallback) ?? 0) + 1);
      }
      for (const counts of [first, second]) {
        for (const each of set) {
          const offBy = Math.abs((counts.get(each) ?? 0) - draws / 8);
          expect(offBy, each.endpoint.id).toBeLessThan(toleranceOf(draws, 1 / 8));
        }
      }
    });

    it('[K4] names one endpoint unless asked for more, also where asked for none', () => {
      expect(picker().pick(candidates([1, 1, 1]), makeContext())).toHaveLength(1);
      expect(picker(0).pick(candidates([1, 1, 1]), makeContext())).toHaveLength(1);
    });

    it('[K5] refuses parameters it does not know', () => {
      expect(() => definition.config.parse({ nonsense: 1 })).toThrow();
    });
  });
}

function profile(name: string): SchedulingProfile {
  return { name, filters: [], scorers: [], picker: { pick: (all) => all.slice(0, 1) } };
}

for (const definition of catalogue.profileHandlers) {
  describe(`${definition.type} keeps the handler contract`, () => {
    const profiles = new Map([['decode', profile('decode')]]);
    const handler = definition.create(
      definition.config.parse(parametersOf(definition.type)),
      { profiles, deciders: new Map([['prefix-based-pd-decider', { separates: () => false }]]) },
      runtime,
    );

    it.each(['picked', 'exhausted'] as const)(
      '[H1] asks for profiles of its own until it is done, and answers with one that ran: %s',
      (kind) => {
        const done: ProfileResult[] = [];
        const context = makeContext();
        let next = handler.next(done, context);
        while (next !== undefined && done.length < 10) {
          expect([...profiles.values()]).toContain(next);
          done.push(
            kind === 'picked'
              ? { kind, profile: next.name, targets: candidates([1]) }
              : { kind, profile: next.name, candidates: 1 },
          );
          next = handler.next(done, context);
        }
        expect(next).toBeUndefined();
        const result = handler.conclude(done, context);
        expect(done).toContain(result.primary);
        expect(result.profiles).toEqual(done);
      },
    );

    it('[H2] refuses profiles it cannot run', () => {
      expect(() =>
        definition.create(
          definition.config.parse(parametersOf(definition.type)),
          { profiles: new Map(), deciders: new Map() },
          runtime,
        ),
      ).toThrow(ConfigError);
    });

    it('[H3] refuses parameters it does not know', () => {
      expect(() => definition.config.parse({ nonsense: 1 })).toThrow();
    });
  });
}
