import { array, assert, constantFrom, integer, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../src/framework/endpoint-attributes.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { makeContext, makeRequest, makeRuntime, NOW } from '../../test/makers.ts';
import { predictedCost } from '../predicted-cost.ts';

const SEED = 20_261_123;
const ENDPOINTS = 256;

interface Change {
  readonly place: number;
  readonly kind: 'sample' | 'cache' | 'adapter' | 'another server' | 'gone';
  readonly size: number;
}

const changes = array(
  record<Change>({
    place: integer({ min: 0, max: ENDPOINTS - 1 }),
    kind: constantFrom('sample', 'cache', 'adapter', 'another server', 'gone'),
    size: integer({ min: 0, max: 100 }),
  }),
  { minLength: 1, maxLength: 40 },
);

function apply(pool: EndpointPool, { place, kind, size }: Change, sampledAt: number): void {
  const id = `e${place}` as EndpointId;
  const spec = { id, address: `e${place}:8000`, labels: new Map<string, string>() };
  if (kind === 'gone') pool.remove(id);
  else if (kind === 'another server') pool.upsert({ ...spec, address: `e${place}:${size}` });
  else if (pool.get(id) === undefined) pool.upsert(spec);
  if (kind === 'sample') {
    const [waitingQueueSize, runningRequests, kvCacheUsage] = [size, size % 7, size / 100];
    pool.observe(id, { waitingQueueSize, runningRequests, kvCacheUsage, sampledAt });
  } else if (kind === 'cache') {
    pool.set(id, CACHE_CONFIG, size === 0 ? undefined : { blockTokens: 16, blocks: 100 * size });
  } else if (kind === 'adapter') {
    // Adapters that run are remembered, and a new scorer would not know of former ones.
    const waiting = new Set<string>(size % 2 === 0 ? ['sql'] : []);
    pool.set(id, LORA, { running: new Set<string>(), waiting, max: size % 3 });
  }
}

test('[D225] 256 endpoints that change have the scores that a scorer without memory gives them', () => {
  const newScorer = () => predictedCost.create(predictedCost.config.parse({}), makeRuntime());
  assert(
    property(array(changes, { minLength: 2, maxLength: 6 }), (rounds) => {
      const pool = new EndpointPool();
      const scorer = newScorer();
      pool.observeEndpoints(scorer);
      for (let place = 0; place < ENDPOINTS; place++) {
        apply(pool, { place, kind: 'sample', size: place % 100 }, NOW - 1);
      }
      for (const [round, each] of rounds.entries()) {
        for (const change of each) apply(pool, change, NOW + round);
        const endpoints = pool.snapshot();
        const request = makeRequest({ model: 'sql', promptTokens: 6400 });
        const load = endpoints.map((_, slot) => ({
          requests: slot % 5,
          contextTokens: 900 * slot,
        }));
        const context = makeContext({ now: NOW + 20 * round, request, load });
        expect(scorer.score(endpoints, context)).toEqual(newScorer().score(endpoints, context));
        const [first] = endpoints;
        if (first === undefined) continue;
        expect(scorer.explain?.(first, context)).toEqual(newScorer().explain?.(first, context));
      }
    }),
    { seed: SEED, numRuns: 40 },
  );
});
