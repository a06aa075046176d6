import { z } from 'zod';
import { meetsRequirement } from '../../../../plugins/filters/label-selector.ts';

/** Labels of an InferencePool. */
export type PoolLabels = Readonly<Record<string, string>>;

/** The fields of `metav1.LabelSelector`. */
interface PoolSelector {
  readonly matchLabels?: PoolLabels | null | undefined;
  readonly matchExpressions?: readonly Expression[] | null | undefined;
}

interface Expression {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[] | null | undefined;
}

const expression = z.object({
  key: z.string().min(1),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
  values: z.array(z.string()).nullish(),
});

/**
 * A selector of pools by their labels, as objects of version v1 have it. An empty one would select
 * every pool.
 */
export const poolSelector: z.ZodType<PoolSelector> = z
  .object({
    matchLabels: z.record(z.string(), z.string()).nullish(),
    matchExpressions: z.array(expression).nullish(),
  })
  .refine(
    ({ matchLabels, matchExpressions }) =>
      Object.keys(matchLabels ?? {}).length + (matchExpressions ?? []).length > 0,
    'selects every pool: give it a label',
  );

/** Whether a selector takes an object with these labels, as Kubernetes does. */
export function selects(
  { matchLabels, matchExpressions }: PoolSelector,
  labels: PoolLabels,
): boolean {
  const own = new Map(Object.entries(labels));
  return (
    Object.entries(matchLabels ?? {}).every(([key, value]) => own.get(key) === value) &&
    (matchExpressions ?? []).every((each) => meetsRequirement(each, own.get(each.key)))
  );
}
