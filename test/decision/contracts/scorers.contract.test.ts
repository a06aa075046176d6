import { describe, expect, it } from 'vitest';
import { type Endpoint, isFresh } from '../../../src/framework/endpoint.ts';
import { ENGINE_COUNT } from '../../../src/framework/endpoint-attributes.ts';
import type { Scorer, ScoreTerms } from '../../../src/framework/scheduling.ts';
import { makeRouted, NOW } from '../../makers.ts';
import { neededConfig } from '../../support/plugins/needed-parameters.ts';
import {
  catalogue,
  headersReadIn,
  KINDS,
  runtime,
  SEED,
  SIZES,
  tell,
  type World,
  world,
} from './plugin-world.ts';

function expectScores(scores: readonly number[], size: number): void {
  expect(scores).toHaveLength(size);
  expect(scores.filter((score) => !(score >= 0 && score <= 1))).toEqual([]);
}

/** Whether the scorer looks at anything that was scraped and ages: the count of engines does not. */
function readsScraped(scorer: Scorer, { endpoints, context }: World): boolean {
  let read = false;
  const watched = endpoints.map(
    (endpoint): Endpoint => ({
      ...endpoint,
      get metrics() {
        read = true;
        return endpoint.metrics;
      },
      attribute: (key) => {
        if (!Object.is(key, ENGINE_COUNT)) read = true;
        return endpoint.attribute(key);
      },
    }),
  );
  scorer.score(watched, context);
  return read;
}

for (const definition of catalogue.scorers) {
  describe(`${definition.type} keeps the scorer contract`, () => {
    const config = neededConfig(definition);
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

    it('[S6] forgets an endpoint that goes: its successor starts as a new one', () => {
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
