import { describe, expect, it } from 'vitest';
import { idleParameters } from '../../../src/config/notes/idle-parameters.ts';
import type { Endpoint } from '../../../src/framework/endpoint.ts';
import type { Observer } from '../../../src/framework/observer.ts';
import type { Filter, SchedulingContext, Scorer } from '../../../src/framework/scheduling.ts';
import { documentedParameters, type Parameter } from '../../docs/documented-parameters.ts';
import { makeRuntime } from '../../makers.ts';
import { neededParameters } from '../../support/plugins/needed-parameters.ts';
import { withValue } from '../parameters/tried-values.ts';
import { catalogue, KINDS, SEED, tell, world } from './plugin-world.ts';

/**
 * A parameter of a filter or scorer that is read changes what it does: of values that are tried one
 * after another, at least one gives another result in a pool that is drawn.
 */

/** What has to be written beside a parameter before it counts, or before drawn pools show it. */
const BESIDE: Readonly<Record<string, object>> = {
  'by-label-selector matchExpressions': neededParameters('label-selector-filter'),
  'concurrency-detector concurrencyMode': { maxConcurrency: 9, maxTokenConcurrency: 99_000 },
  'concurrency-detector headroom': { maxConcurrency: 9 },
  'concurrency-detector maxTokenConcurrency': { concurrencyMode: 'tokens' },
  'context-length-aware reusableTokensProducerName': { label: 'llm-d.ai/role' },
  'endpoint-attribute-filter fallbackOnEmpty': {
    algorithm: { type: 'threshold', threshold: { operator: 'LessThan', value: -1 } },
  },
  'multicluster-prefix-cache-scorer matchLengthScaleTokens': { matchLengthWeight: 1 },
  'prefix-cache-scorer matchLengthScaleTokens': { matchLengthWeight: 1 },
};

/** Parameters that these pools cannot show, and the test that does. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'assignment-filter spillRequests': 'scorers/assignment.test.ts',
  'consistent-hash-scorer prefixTokens': 'scorers/baselines/rendezvous.test.ts',
  'dual-map-scorer prefixTokens': 'scorers/baselines/rendezvous.test.ts',
  'endpoint-attribute-weight-scorer attributeKey': 'scorers/endpoint-attribute-weight.test.ts',
  'endpoint-attribute-weight-scorer producer': 'scorers/endpoint-attribute-weight.test.ts',
  'header-label-affinity-scorer labelKey': 'scorers/header-label-affinity.test.ts',
  'latency-observation-scorer-hub explorationRate': 'scorers/latency-observation.test.ts',
  'no-hit-lru-scorer lruSize': 'scorers/no-hit-lru.test.ts',
  'rendezvous-scorer prefixTokens': 'scorers/baselines/rendezvous.test.ts',
  'served-model-filter fallbackOnEmpty': 'src/plugins/filters/served-model.test.ts',
  'slo-headroom-tier-filter epsilonExploreNeg': 'src/plugins/filters/slo-headroom-tier.test.ts',
};
/** Whole types of which a part of the parameters needs bindings, places or time. */
const ELSEWHERE_BY_TYPE: Readonly<Record<string, string>> = {
  'multicluster-session-affinity-filter': 'src/plugins/filters/session-affinity.test.ts',
  'precise-prefix-cache-scorer': 'scorers/precise-prefix-cache.test.ts',
  'session-affinity-filter': 'src/plugins/filters/session-affinity.test.ts',
  'session-affinity-scorer': 'src/plugins/filters/session-affinity.test.ts',
  'topology-affinity-filter': 'scorers/topology-affinity.test.ts',
  'topology-affinity-scorer': 'scorers/topology-affinity.test.ts',
  'utilization-detector': 'src/flow/control/saturation/detectors.test.ts',
};

const NUMBERS = [0, 0.001, 0.05, 0.3, 0.5, 1, 2, 3, 10, 100, 1000, 1e5, 1e6, -1];
const TEXTS = ['llm-d.ai/role', 'x-session-id', 'decode', 'KVCacheUsagePercent', '1s', 'zone'];
const POOLS = [2, 17, 60].flatMap((size) =>
  Object.values(KINDS).flatMap((kinds) => [SEED, SEED + 1].map((seed) => ({ size, kinds, seed }))),
);

function valuesOf({ values }: Parameter): readonly unknown[] {
  const texts = [...values.matchAll(/`"([^"]*)"`/g)].map(([, text]) => text);
  if (texts.length > 0) return texts;
  if (values.includes('boolean')) return [true, false];
  if (values.includes('number')) return NUMBERS;
  return values.includes('list of string') ? TEXTS.map((text) => [text]) : TEXTS;
}

type Plugin = Partial<Filter> & Partial<Scorer> & Observer;

function resultOf(
  plugin: Plugin,
  endpoints: readonly Endpoint[],
  context: () => SchedulingContext,
): unknown {
  const kept = plugin.filter?.(endpoints, context()).map(({ slot }) => slot);
  return [kept, plugin.score && [...plugin.score(endpoints, context())]];
}

for (const definition of [...catalogue.filters, ...catalogue.scorers]) {
  const { type } = definition;
  const shown = documentedParameters().filter(
    (parameter) =>
      parameter.type === type &&
      !parameter.isFixed &&
      !/object|anything/.test(parameter.values) &&
      idleParameters(type, withValue({}, parameter.path, 1), '').length === 0 &&
      !(type in ELSEWHERE_BY_TYPE) &&
      !(`${type} ${parameter.path.join('.')}` in ELSEWHERE),
  );
  describe.skipIf(shown.length === 0)(`parameters of ${type}`, () => {
    /** What it does in every pool; undefined for parameters that it refuses. */
    function behaviour(parameters: object): string | undefined {
      let config: unknown;
      try {
        config = definition.config.parse(parameters);
      } catch {
        return undefined;
      }
      const needs = definition.needs?.(config).map(({ name }) => name) ?? [];
      const results = POOLS.map(({ seed, ...pool }) => {
        const { endpoints, context } = world({ ...pool, needs: new Set(needs) }, seed);
        const plugin: Plugin = definition.create(config, makeRuntime(SEED));
        tell(plugin, endpoints, seed);
        return resultOf(plugin, endpoints, context);
      });
      return JSON.stringify([results, needs, definition.headers?.(config)]);
    }

    it.each(shown)('[D610] $name changes what it does', ({ path, ...parameter }) => {
      const at = `${type} ${path.join('.')}`;
      const beside = BESIDE[at] ?? BESIDE[`${type} ${path[0]}`] ?? {};
      const base = { ...neededParameters(type), ...beside };
      const seen = new Set<string | undefined>([behaviour(base)]);
      for (const value of valuesOf({ path, ...parameter })) {
        const given = behaviour(withValue(base, path, value));
        if (given !== undefined) seen.add(given);
        if (seen.size > 1) break;
      }
      expect(seen.size).toBeGreaterThan(1);
    });
  });
}
