import { z } from 'zod';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

interface Range {
  readonly min: number;
  readonly max: number;
}

/** The score of an endpoint without a label. */
const UNLABELLED = 0.5;

/**
 * Prefers endpoints meant for prompts of this length, by a label such as `0-8192`: the narrower the
 * range and the more room above the prompt, the better. With `enableFiltering` it also drops the
 * endpoints whose range does not contain the prompt.
 */
export const contextLengthAware: ScorerDefinition = defineScorer({
  type: 'context-length-aware',
  config: z.strictObject({
    label: z.string().min(1).default('llm-d.ai/context-length-range'),
    enableFiltering: z.boolean().default(false),
  }),
  create({ label, enableFiltering }) {
    const rangeOf = ({ labels }: Endpoint): Range | undefined => parseRange(labels.get(label));
    return {
      score: (endpoints, { request }) =>
        endpoints.map((endpoint) => scoreOf(request.promptTokens, rangeOf(endpoint))),
      ...(enableFiltering && {
        filter: (endpoints, { request }) =>
          endpoints.filter((endpoint) => {
            const range = rangeOf(endpoint);
            return range === undefined || contains(range, request.promptTokens);
          }),
      }),
    };
  },
});

function contains({ min, max }: Range, tokens: number): boolean {
  return tokens >= min && tokens <= max;
}

/** The reference's formula. */
function scoreOf(tokens: number, range: Range | undefined): number {
  if (range === undefined) return UNLABELLED;
  const { min, max } = range;
  if (!contains(range, tokens)) {
    const distance = tokens < min ? min - tokens : tokens - max;
    return 0.3 / (1 + distance / 1000);
  }
  const width = Math.max(1, max - min);
  const headroom = (max - tokens) / width;
  return 0.3 + 0.7 * (0.7 / (1 + width / 10_000) + 0.3 * headroom);
}

/** Reads `min-max` in tokens; undefined for any other text. */
function parseRange(text: string | undefined): Range | undefined {
  const [, min = '', max = ''] = /^\s*(\d+)\s*-\s*(\d+)\s*$/.exec(text ?? '') ?? [];
  if (min === '' || Number(min) > Number(max)) return undefined;
  return { min: Number(min), max: Number(max) };
}
