import type { Random } from '../../framework/runtime.ts';
import { type ModelRewriteRule, ModelRewrites } from './model-rewrites.ts';

/** A pool's rules for requests: the priority of each objective, and rewrites of models. */
export class RequestRules {
  readonly #random: Random;
  #priorities: ReadonlyMap<string, number> = new Map();
  #rules: readonly ModelRewriteRule[] = [];
  #rewrites = new ModelRewrites([]);
  #models: ReadonlySet<string> = new Set();
  #onChange: () => void = () => undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  setObjectives(priorities: ReadonlyMap<string, number>): void {
    this.#priorities = priorities;
    this.#onChange();
  }

  /** Replaces all rewrites. Where several rules name the same model, the first applies. */
  setRewrites(rules: readonly ModelRewriteRule[]): void {
    this.#rules = rules;
    this.#rewrites = new ModelRewrites(rules);
    this.#models = new Set(
      rules.flatMap(({ models, targets }) => [...models, ...targets.map(({ model }) => model)]),
    );
    this.#onChange();
  }

  /** Calls back after each change. */
  observe(onChange: () => void): void {
    this.#onChange = onChange;
  }

  get priorities(): ReadonlyMap<string, number> {
    return this.#priorities;
  }

  get rewrites(): readonly ModelRewriteRule[] {
    return this.#rules;
  }

  /** All models that rewrites name, and all that they lead to. */
  get models(): ReadonlySet<string> {
    return this.#models;
  }

  /** 0 for an unknown objective, and for none. */
  priorityOf(objective: string | undefined): number {
    return (objective === undefined ? undefined : this.#priorities.get(objective)) ?? 0;
  }

  /** The rule and target for a request; undefined without one. Equal ids get equal targets. */
  rewriteOf(
    model: string,
    requestId: string,
  ): { readonly rule: string; readonly model: string } | undefined {
    return this.#rewrites.choose(model, () => this.#random.fork(requestId).next());
  }

  describe(): {
    readonly objectives: Readonly<Record<string, number>>;
    readonly modelRewrites: readonly ModelRewriteRule[];
  } {
    return { objectives: Object.fromEntries(this.#priorities), modelRewrites: this.#rules };
  }
}
