import type { Random } from '../../framework/runtime.ts';
import { type ModelRewriteRule, ModelRewrites } from './model-rewrites.ts';

/** What those who run a pool say of requests: what an objective is worth, and which model serves in another's name. */
export class RequestRules {
  readonly #random: Random;
  #priorities: ReadonlyMap<string, number> = new Map();
  #rules: readonly ModelRewriteRule[] = [];
  #rewrites = new ModelRewrites([]);

  constructor(random: Random) {
    this.#random = random;
  }

  /** From now on, all of them. */
  setObjectives(priorities: ReadonlyMap<string, number>): void {
    this.#priorities = priorities;
  }

  /** From now on, all of them; those that come first win. */
  setRewrites(rules: readonly ModelRewriteRule[]): void {
    this.#rules = rules;
    this.#rewrites = new ModelRewrites(rules);
  }

  /** 0 for an objective nobody has said anything of, and for none. */
  priorityOf(objective: string | undefined): number {
    return (objective === undefined ? undefined : this.#priorities.get(objective)) ?? 0;
  }

  /** By which rule another model serves, undefined where none says so. The same request draws the same. */
  rewriteOf(
    model: string,
    requestId: string,
  ): { readonly rule: string; readonly model: string } | undefined {
    return this.#rewrites.choose(model, () => this.#random.fork(requestId).next());
  }

  /** All that holds now, as JSON. */
  describe(): {
    readonly objectives: Readonly<Record<string, number>>;
    readonly modelRewrites: readonly ModelRewriteRule[];
  } {
    return { objectives: Object.fromEntries(this.#priorities), modelRewrites: this.#rules };
  }
}
