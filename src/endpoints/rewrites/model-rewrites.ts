import { z } from 'zod';

/**
 * As the reference's objects have it. The least one is read as one more: it can be negated, too.
 */
export const priority: z.ZodType<number> = z
  .int()
  .min(-(2 ** 31))
  .max(2 ** 31 - 1)
  .transform((given) => Math.max(given, 1 - 2 ** 31));
export const weight: z.ZodType<number> = z.int().min(1).max(1_000_000);

export interface RewriteTarget {
  readonly model: string;
  /** Above 0. Without a weight a target gets nothing, unless none has one: then all are equal. */
  readonly weight?: number | undefined;
}

export interface ModelRewriteRule {
  /** The rule's name in metrics: that of its InferenceModelRewrite. */
  readonly rule: string;
  /** The exact names of the models it applies to; with none, it applies to every request. */
  readonly models: readonly string[];
  /** At least one. */
  readonly targets: readonly RewriteTarget[];
}

/** Finds the rule for a model. A rule that names the model comes before a rule for all requests. */
export class ModelRewrites {
  readonly #byName = new Map<string, ModelRewriteRule>();
  readonly #forAll: ModelRewriteRule | undefined;

  /** The first of several rules for the same model applies. */
  constructor(rules: readonly ModelRewriteRule[]) {
    for (const rule of rules) {
      for (const model of rule.models) {
        if (!this.#byName.has(model)) this.#byName.set(model, rule);
      }
    }
    this.#forAll = rules.find(({ models }) => models.length === 0);
  }

  /** `model`: `''` for none. `draw`: a random number in [0, 1), only called for a choice. */
  choose(
    model: string,
    draw: () => number,
  ): { readonly rule: string; readonly model: string } | undefined {
    const found = this.#byName.get(model) ?? this.#forAll;
    if (found === undefined) return undefined;
    const target = pickTarget(found.targets, draw);
    return target && { rule: found.rule, model: target.model };
  }
}

function pickTarget(
  targets: readonly RewriteTarget[],
  draw: () => number,
): RewriteTarget | undefined {
  const weighted = targets.some((target) => target.weight !== undefined);
  const eligible = weighted ? targets.filter((target) => target.weight !== undefined) : targets;
  if (eligible.length < 2) return eligible[0];
  const total = eligible.reduce((sum, target) => sum + (target.weight ?? 1), 0);
  let left = draw() * total;
  for (const target of eligible) {
    left -= target.weight ?? 1;
    if (left < 0) return target;
  }
  return eligible.at(-1);
}
