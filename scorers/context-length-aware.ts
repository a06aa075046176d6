import { z } from 'zod';
import { reusableTokensKey } from '../src/framework/cycle-facts.ts';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { defineScorer, type ScorerDefinition } from '../src/framework/plugin.ts';
import type { SchedulingContext } from '../src/framework/scheduling.ts';

interface Range {
  readonly min: number;
  readonly max: number;
}

/** The score of an endpoint without a label. */
const UNLABELLED = 0.5;
/** The score of an endpoint whose label is no range; as in the reference, filtering drops it. */
const UNREADABLE = 0;

/** Says which lengths of whole prompts an endpoint takes, and so not how much of them to compute. */
const LENGTH_LABEL = 'llm-d.ai/context-length-range';

const config = z.lazy(() =>
  z
    .strictObject({
      label: z.string().min(1).default(LENGTH_LABEL),
      enableFiltering: z.boolean().default(false),
      reusableTokensProducerName: z
        .string()
        .optional()
        .transform((name) => name || undefined),
    })
    .refine(
      ({ label, reusableTokensProducerName }) =>
        reusableTokensProducerName === undefined || label !== LENGTH_LABEL,
      {
        path: ['label'],
        message: `must be another one than ${LENGTH_LABEL} beside reusableTokensProducerName, because its ranges are of what is left to compute`,
      },
    ),
);

/**
 * Prefers endpoints meant for prompts of this length, by a label such as `0-8192`: the narrower the
 * range and the more room above the prompt, the better. With `enableFiltering` it also drops the
 * endpoints whose range does not contain the prompt. With `reusableTokensProducerName`, the name of
 * a `p2p-source-producer`, a prompt is as long as what is left of it to compute.
 */
export const contextLengthAware: ScorerDefinition = defineScorer({
  type: 'context-length-aware',
  config,
  needs: ({ reusableTokensProducerName: producer }) =>
    producer === undefined ? [] : [reusableTokensKey(producer)],
  create({ label, enableFiltering, reusableTokensProducerName: producer }) {
    const textOf = ({ labels }: Endpoint): string | undefined => labels.get(label);
    const lengthOf = (context: SchedulingContext): number => {
      const { promptTokens } = context.request;
      if (producer === undefined || promptTokens === 0) return promptTokens;
      return Math.max(1, promptTokens - context.get(reusableTokensKey(producer)));
    };
    return {
      score(endpoints, context) {
        const tokens = lengthOf(context);
        return endpoints.map((endpoint) => scoreOf(tokens, textOf(endpoint)));
      },
      ...(enableFiltering && {
        filter(endpoints, context) {
          const tokens = lengthOf(context);
          return endpoints.filter((endpoint) => {
            const text = textOf(endpoint);
            const range = parseRange(text);
            return text === undefined || (range !== undefined && contains(range, tokens));
          });
        },
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
