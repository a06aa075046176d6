import { z } from 'zod';
import {
  DEFAULT_PREFIX_PRODUCER,
  IN_FLIGHT,
  prefixMatchKey,
} from '../../src/framework/cycle-facts.ts';
import { defineScorer, type ScorerDefinition } from '../../src/framework/plugin.ts';
import { keyedHash, prefixKey } from './prefix-key.ts';

/**
 * DualMap (arXiv 2602.06502): two hashes of the beginning of the prompt name two candidates. The
 * candidate that holds more of the prompt is best while the time that its waiting prefill needs is
 * within the TTFT objective; otherwise the candidate with less waiting prefill is.
 */
export const dualMap: ScorerDefinition = defineScorer({
  type: 'dual-map-scorer',
  hashesPrompt: true,
  config: z.lazy(() =>
    z.strictObject({
      prefixTokens: z.int().positive().default(1024),
      ttftSloMs: z.number().positive().default(2000),
      /** The prefill speed of one endpoint, which turns waiting tokens into time. */
      prefillTokensPerSecond: z.number().positive().default(25_000),
      prefixMatchInfoProducerName: z.string().default(DEFAULT_PREFIX_PRODUCER),
    }),
  ),
  needs: ({ prefixMatchInfoProducerName }) => [
    IN_FLIGHT,
    prefixMatchKey(prefixMatchInfoProducerName),
  ],
  create: ({ prefixTokens, ttftSloMs, prefillTokensPerSecond, prefixMatchInfoProducerName }) => ({
    score(endpoints, context) {
      const { request, random } = context;
      const inFlight = context.get(IN_FLIGHT);
      const match = context.get(prefixMatchKey(prefixMatchInfoProducerName));
      const key = prefixKey(request.prompt, prefixTokens) ?? Math.floor(random.next() * 2 ** 32);
      if (endpoints.length === 0) return [];
      const candidates = [`first ${key}`, `second ${key}`].map((salt) =>
        endpoints.reduce((best, endpoint) =>
          keyedHash(key, salt + endpoint.id) > keyedHash(key, salt + best.id) ? endpoint : best,
        ),
      );
      const waitMs = (endpoint: (typeof endpoints)[number]): number =>
        (1000 * inFlight.load(endpoint).pendingPrefillTokens) / prefillTokensPerSecond;
      const [first] = [...candidates].sort(
        (a, b) =>
          Number(waitMs(a) > ttftSloMs) - Number(waitMs(b) > ttftSloMs) ||
          match.matchedBlocks(b) - match.matchedBlocks(a) ||
          waitMs(a) - waitMs(b) ||
          inFlight.load(a).requests - inFlight.load(b).requests,
      );
      return endpoints.map((endpoint) =>
        endpoint === first ? 1 : candidates.includes(endpoint) ? 0.5 : 0,
      );
    },
  }),
});
