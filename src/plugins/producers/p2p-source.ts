import { z } from 'zod';
import {
  DEFAULT_PREFIX_PRODUCER,
  type PrefixMatch,
  prefixMatchKey,
  reusableTokensKey,
} from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';
import { KV_SOURCE_HEADER } from '../../framework/routing.ts';
import type { Random } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import { producerName } from '../parameters/producer-name.ts';

/**
 * Names a server from which the one that computes the prompt can take cached blocks, in a header
 * for its sidecar. Among the servers within one block of the longest match, one is drawn with
 * probability in proportion to `1 / (1 + waiting requests)`.
 */
export const p2pSourceProducer: DataSourceDefinition = defineDataSource({
  type: 'p2p-source-producer',
  config: z.lazy(() =>
    z.strictObject({
      prefixMatchInfoProducerName: producerName(DEFAULT_PREFIX_PRODUCER),
      /** The least number of cached tokens by which the source must exceed the computing server. */
      minCachedTokenDelta: z.int().min(1).default(1),
      prefillProfileName: z
        .string()
        .optional()
        .transform((name) => name || 'prefill'),
    }),
  ),
  needs: ({ prefixMatchInfoProducerName }) => [prefixMatchKey(prefixMatchInfoProducerName)],
  provides: (_config, name) => [reusableTokensKey(name)],
  start({ prefixMatchInfoProducerName, minCachedTokenDelta, prefillProfileName }, { name }) {
    const key = prefixMatchKey(prefixMatchInfoProducerName);
    return {
      facts: [
        {
          key: reusableTokensKey(name),
          // A server with fewer tokens than this is sent the header, with the same source.
          compute(endpoints, context) {
            const match = context.get(key);
            const source = sourceOf(match, endpoints, context.random.fork(name));
            const offered = source === undefined ? 0 : offeredBlocks(match, source);
            return Math.max(0, offered * match.blockTokens - minCachedTokenDelta + 1);
          },
        },
      ],
      requestHeaders(decision, endpoints, context) {
        const computing = computingEndpoint(decision, prefillProfileName);
        if (computing === undefined) return [];
        const match = context.get(key);
        const source = sourceOf(match, endpoints, context.random.fork(name));
        if (source === undefined || source.id === computing.id) return [];
        const moreBlocks = offeredBlocks(match, source) - ownBlocks(match, computing);
        const isWorthIt = moreBlocks * match.blockTokens >= minCachedTokenDelta;
        return isWorthIt ? [[KV_SOURCE_HEADER, source.address]] : [];
      },
      stop: () => undefined,
    };
  },
});

/** Where the prompt is computed: the pick of the prefill profile, or else the primary pick. */
function computingEndpoint(
  { primary, profiles }: Decision,
  prefillProfile: string,
): Endpoint | undefined {
  const prefill = profiles.find(({ profile }) => profile === prefillProfile);
  const picked = prefill?.kind === 'picked' ? prefill : primary;
  return picked.kind === 'picked' ? picked.targets[0]?.endpoint : undefined;
}

function sourceOf(
  match: PrefixMatch,
  endpoints: readonly Endpoint[],
  random: Random,
): Endpoint | undefined {
  const holding = endpoints.filter((endpoint) => offeredBlocks(match, endpoint) > 0);
  const most = Math.max(0, ...holding.map((endpoint) => offeredBlocks(match, endpoint)));
  const candidates = holding.filter((endpoint) => offeredBlocks(match, endpoint) + 1 >= most);
  const weights = candidates.map(({ metrics }) => 1 / (1 + metrics.waitingQueueSize));
  let left = random.next() * weights.reduce((sum, weight) => sum + weight, 0);
  const drawn = weights.findIndex((weight) => {
    left -= weight;
    return left < 0;
  });
  return candidates.at(drawn);
}

/**
 * What others can take: blocks come from the memory of the host, as far as events say what is
 * there.
 */
function offeredBlocks(match: PrefixMatch, endpoint: Endpoint): number {
  return match.heldBlocks?.(endpoint)?.onHost ?? match.matchedBlocks(endpoint);
}

/** What need not be taken from elsewhere: blocks in any tier, and those that no event names. */
function ownBlocks(match: PrefixMatch, endpoint: Endpoint): number {
  const { inAnyTier = 0 } = match.heldBlocks?.(endpoint) ?? {};
  return Math.max(inAnyTier, match.matchedBlocks(endpoint));
}
