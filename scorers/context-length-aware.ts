import { z } from 'zod';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';

interface Range {
  readonly min: number;
  readonly max: number;
}

/** The score of an endpoint without a label. */
const UNLABELLED = 0.5;
/** The score of an endpoint whose label is no range; as in the reference, filtering drops it. */
const UNREADABLE = 0;

/**
 * Prefers endpoints meant for prompts of this length, by a label such as `0-8192`: the narrower the
 * range and the more room above the prompt, the better. With `enableFiltering` it also drops the
 * endpoints whose range does not contain the prompt.
 */
export const contextLengthAware: ScorerDefinition = defineScorer({
  type: 'context-length-aware',
  config: z.lazy(() =>
    z.strictObject({
      label: z.string().min(1).default('llm-d.ai/context-length-range'),
      enableFiltering: z.boolean().default(false),
    }),
  ),
  create({ label, enableFiltering }) {
    const textOf = ({ labels }: Endpoint): string | undefined => labels.get(label);
    return {
      score: (endpoints, { request }) =>
        endpoints.map((endpoint) => scoreOf(request.promptTokens, textOf(endpoint))),
      ...(enableFiltering && {
        filter: (endpoints, { request }) =>
          endpoints.filter((endpoint) => {
            const text = textOf(endpoint);
            const range = parseRange(text);
            return (
              text === undefined || (range !== undefined && contains(range, request.promptTokens))
            );
          }),
      }),
    };
  },
});

function contains({ min, max }: Range, tokens: number): boolean {
  return tokens >= min && tokens <= max;
}

/** The reference's formula. */
function scoreOf(tokens: number, text: string | undefined): number {
  if (text === undefined) return UNLABELLED;
  const range = parseRange(text);
  if (range === undefined) return UNREADABLE;
  const { min, max } = range;
  if (!contains(range, tokens)) {
    const distance = tokens < min ? min - tokens : tokens - max;
    return 0.3 / (1 + distance / 1000);
  }
  const width = max - min;
  if (width === 0) return 1;
  const headroom = (max - tokens) / width;
  return 0.3 + 0.7 * (0.7 / (1 + width / 10_000) + 0.3 * headroom);
}

/** Reads `min-max` in tokens; undefined for any other text. */
function parseRange(text: string | undefined): Range | undefined {
  const [, min = '', max = ''] = /^\s*(\d+)\s*-\s*(\d+)\s*$/.exec(text ?? '') ?? [];
  if (min === '' || Number(min) > Number(max)) return undefined;
  return { min: Number(min), max: Number(max) };
}
