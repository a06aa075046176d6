import { z } from 'zod';
import { DEFAULT_PREFIX_PRODUCER, prefixMatchKey } from '../src/framework/cycle-facts.ts';
import type { Endpoint, EndpointId } from '../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import { positiveOr } from '../src/plugins/parameters/positive-or.ts';
import { producerName } from '../src/plugins/parameters/producer-name.ts';

/**
 * Spreads prompts that no endpoint has cached: an endpoint that never got a cold request scores 1,
 * the others follow by how long ago they got one, with their rank among all that did, candidates or
 * not. A request with any cache hit scores 0.5 everywhere.
 */
export const noHitLru: ScorerDefinition = defineScorer({
  type: 'no-hit-lru-scorer',
  config: z.lazy(() =>
    z.strictObject({
      /**
       * For so many endpoints it is known when they got a cold request; 0 or less stands for 1,024.
       */
      lruSize: positiveOr(1024),
      /** Names of older versions of the reference, which it reads and does not use. */
      prefixPluginType: z.string().optional(),
      prefixPluginName: z.string().optional(),
      prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
    }),
  ),
  needs: ({ prefixMatchInfoProducerName }) => [prefixMatchKey(prefixMatchInfoProducerName)],
  create({ lruSize, prefixMatchInfoProducerName }) {
    /** Endpoints that got a cold request, the latest last; also those that have left since. */
    const used = new Set<EndpointId>();
    /** What the newest scores of a request found: only its own `onRouted` reads that. */
    const isCold = new WeakMap<InferenceRequest, boolean>();
    const use = ({ id }: Endpoint): void => {
      used.delete(id);
      used.add(id);
      if (used.size > lruSize) used.delete(used.values().next().value as EndpointId);
    };
    return {
      score(endpoints, context) {
        const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
        const cold = endpoints.every((endpoint) => match.matchedBlocks(endpoint) === 0);
        isCold.set(context.request, cold);
        if (!cold) return endpoints.map(() => 0.5);
        if (endpoints.length === 1) return [1];
        const places = new Map([...used].map((id, place) => [id, place]));
        const unused = endpoints.filter(({ id }) => !places.has(id)).length;
        return endpoints.map(({ id }) => {
          const place = places.get(id);
          return place === undefined
            ? 1
            : Math.max(0, 1 - (unused + place) / (endpoints.length - 1));
        });
      },
      onRouted({ request, endpoint, prefill, cachedTokens }) {
        // Another replica's request has no scores here.
        if (!(isCold.get(request) ?? cachedTokens === 0)) return;
        use(endpoint);
        if (prefill !== undefined) use(prefill);
      },
      describeState: () => ({ endpoints: [...used] }),
    };
  },
});
