import type { PickerPlan } from '../picker/plan/picker-plan.ts';

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
export function hashesReferenceText({ plugins }: Pick<PickerPlan, 'plugins'>): boolean {
  const found = plugins.filter(({ definition }) => TYPES.has(definition.type));
  const learns = ({ config }: (typeof found)[number]): boolean =>
    (config as { readonly keepInFlight?: boolean } | undefined)?.keepInFlight === true;
  return found.length > 0 && !found.some(learns);
}
