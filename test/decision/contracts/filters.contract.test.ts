import { describe, expect, it } from 'vitest';
import type { Observer } from '../../../src/framework/observer.ts';
import type { Filter } from '../../../src/framework/scheduling.ts';
import { makeRouted } from '../../makers.ts';
import { neededConfig, neededParameters } from '../../support/plugins/needed-parameters.ts';
import { catalogue, headersReadIn, KINDS, runtime, SIZES, world } from './plugin-world.ts';

for (const definition of catalogue.filters) {
  describe(`${definition.type} keeps the filter contract`, () => {
    const config = neededConfig(definition);
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
      const known = neededParameters(definition.type);
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
