import { describe, expect, test } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { MODELS } from '../../src/framework/endpoint-attributes.ts';
import { RoutingError } from '../../src/framework/error.ts';
import type { DataSource, DataSourceDefinition } from '../../src/framework/plugin.ts';
import type { Decision, ProfileResult } from '../../src/framework/scheduling.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeContext, makePool, makeRequest, makeRuntime } from '../makers.ts';
import { neededConfig } from '../support/plugins/needed-parameters.ts';

/** Data sources that screen, refuse or add headers, run against every one of the catalogue. */

const SEED = 20_261_122;
const pool = makePool(
  Array.from({ length: 17 }, (_, at) => ({
    waiting: at % 3,
    running: at % 4,
    kv: (at % 10) / 10,
    labels: {
      set: 's',
      'disaggregatedset.x-k8s.io/revision': at % 2 === 0 ? 'a' : 'b',
      'disaggregatedset.x-k8s.io/role': 'decode',
    },
    attributes: [[MODELS as never, [{ id: at % 2 === 0 ? 'm' : 'n', isAdapter: false }]]] as const,
  })),
);
const matchedBlocks = pool.map((_, at) => at % 5);

/** Undefined where it needs more than a picker: then it controls no request. */
function start(definition: DataSourceDefinition): DataSource | undefined {
  const { type, start: begin } = definition;
  const config = neededConfig(definition);
  const writer = { snapshot: () => pool, observe: () => undefined, set: () => undefined };
  try {
    return begin(config, { name: type, pool: writer, runtime: makeRuntime(SEED) });
  } catch {
    return undefined;
  }
}

/** A refusable request. Each context draws the same numbers. */
const contextOf = () =>
  makeContext({
    request: makeRequest({ priority: -1, ttftSloMs: 1, mediaItems: 1 }),
    random: seededRandom(SEED),
    matchedBlocks,
  });

const sources = EMBEDDED_CATALOGUE.dataSources.flatMap((definition) => {
  const source = start(definition);
  const controls = source?.screen ?? source?.admit ?? source?.requestHeaders;
  return source === undefined || controls === undefined ? [] : [{ type: definition.type, source }];
});

test('[D53] the suite has all sources that control requests', () => {
  expect(sources.map(({ type }) => type).toSorted()).toEqual([
    'disaggregatedset-rollout-screener',
    'endpoint-pin-screener',
    'latency-slo-admitter',
    'mm-embeddings-cache-producer',
    'models-responder',
    'p2p-source-producer',
    'probabilistic-admitter',
  ]);
});

describe.each(sources)('$type', ({ source }) => {
  test('[D53] screens the same twice, in order, and adds no endpoint', () => {
    const once = source.screen?.(pool, contextOf()) ?? pool;
    expect(source.screen?.(pool, contextOf()) ?? pool).toEqual(once);
    expect(pool.filter((endpoint) => once.includes(endpoint))).toEqual(once);
    expect(source.screen?.([], contextOf()) ?? []).toEqual([]);
  });

  test('[D53] refuses the same twice, and only with a RoutingError', () => {
    const refused = (): unknown => {
      try {
        return source.admit?.(pool, contextOf());
      } catch (error) {
        return error;
      }
    };
    const once = refused();
    if (once !== undefined) expect(once).toBeInstanceOf(RoutingError);
    expect(refused()).toEqual(once);
  });

  test('[D53] adds the same headers twice, in lower case', () => {
    const [endpoint] = pool;
    const targets = endpoint === undefined ? [] : [{ endpoint, score: 1 }];
    const primary: ProfileResult = { kind: 'picked', profile: 'default', targets };
    const decision: Decision = { primary, profiles: [primary], headers: new Map() };
    const headers = () => [...(source.requestHeaders?.(decision, pool, contextOf()) ?? [])];
    const once = headers();
    expect(headers()).toEqual(once);
    for (const [name] of once) expect(name).toBe(name.toLowerCase());
  });
});
