import type { TokenProducerConfig } from '../endpoints/tokenize/token-producer.ts';
import { DEFAULT_MEDIA, type PromptReading } from '../framework/prompt-reading.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';

const TOKEN_PRODUCERS: ReadonlySet<string> = new Set(['token-producer', 'tokenizer']);

type ReadingPlan = Pick<PickerPlan, 'plugins' | 'outputEstimate'>;

/** How prompts are read for this plan; with `others`, as these plans need the text of it. */
export function readingOfPlan(
  plan: ReadingPlan,
  others: readonly ReadingPlan[] = [],
): PromptReading {
  const producer = plan.plugins.find(({ definition }) => TOKEN_PRODUCERS.has(definition.type));
  const { estimate = DEFAULT_MEDIA } = (producer?.config ?? {}) as TokenProducerConfig;
  const plans = [plan, ...others];
  return {
    referenceText: plans.some(hashesReferenceText),
    media: estimate,
    answerLengths: plans.some(
      (one) => one.outputEstimate && one.outputEstimate.ratio === undefined,
    ),
  };
}

/** Producers of the reference that compare prompts. */
const TYPES: ReadonlySet<string> = new Set([
  'approx-prefix-cache-producer',
  'burst-prefix-cache-producer',
  'multicluster-approx-prefix-cache-producer',
]);

/**
 * Whether a plan's prefix indexes are those of the reference: then its blocks begin where those of
 * the reference do. An index that learns answers needs the text as clients send it.
 */
function hashesReferenceText({ plugins }: ReadingPlan): boolean {
  const found = plugins.filter(({ definition }) => TYPES.has(definition.type));
  const learns = ({ config }: (typeof found)[number]): boolean =>
    (config as { readonly keepInFlight?: boolean } | undefined)?.keepInFlight === true;
  return found.length > 0 && !found.some(learns);
}
