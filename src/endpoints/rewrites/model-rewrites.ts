/** One of the models a request may be given to. */
export interface RewriteTarget {
  readonly model: string;
  /** Above 0. Where some targets have one, those without get nothing; where none has, all are alike. */
  readonly weight?: number | undefined;
}

/** Which requests go to which models. */
export interface ModelRewriteRule {
  /** What it stands in, an InferenceModelRewrite, for metrics. */
  readonly rule: string;
  /** Any of these names, exactly; none is any request, also one that names no model. */
  readonly models: readonly string[];
  /** At least one. */
  readonly targets: readonly RewriteTarget[];
}

/** Rules by the names they match: a name's own rule before one for all, the first of several. */
export class ModelRewrites {
  readonly #byName = new Map<string, ModelRewriteRule>();
  readonly #forAll: ModelRewriteRule | undefined;

  /** Those that come first win. */
  constructor(rules: readonly ModelRewriteRule[]) {
    for (const rule of rules) {
      for (const model of rule.models) {
        if (!this.#byName.has(model)) this.#byName.set(model, rule);
      }
    }
    this.#forAll = rules.find(({ models }) => models.length === 0);
  }

  /** The target for a request of this model, `''` for none. `draw` gives a number in [0, 1), and is asked where chance decides. */
  choose(
    model: string,
    draw: () => number,
  ): { readonly rule: string; readonly model: string } | undefined {
    const found = this.#byName.get(model) ?? this.#forAll;
    if (found === undefined) return undefined;
    const target = drawn(found.targets, draw);
    return target && { rule: found.rule, model: target.model };
  }
}

function drawn(targets: readonly RewriteTarget[], draw: () => number): RewriteTarget | undefined {
  const weighted = targets.some(({ weight }) => weight !== undefined);
  const eligible = weighted ? targets.filter(({ weight }) => weight !== undefined) : targets;
  if (eligible.length < 2) return eligible[0];
  const weightOf = ({ weight = 1 }: RewriteTarget): number => weight;
  const total = eligible.reduce((sum, target) => sum + weightOf(target), 0);
  let left = draw() * total;
  for (const target of eligible) {
    left -= weightOf(target);
    if (left < 0) return target;
  }
  return eligible.at(-1);
}
