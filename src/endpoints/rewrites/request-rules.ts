import type { Random } from '../../framework/runtime.ts';
import { type ModelRewriteRule, ModelRewrites } from './model-rewrites.ts';

/** Threads that read requests by the rules of this one. */
export interface RuleReaders {
  /** The rules have changed. */
  refresh(): void;
  /** Calls back once no request comes any more that was read by former rules; perhaps at once. */
  whenAdopted(then: () => void): void;
}

/** A pool's rules for requests: the priority of each objective, and rewrites of models. */
export class RequestRules {
  readonly #random: Random;
  #priorities: ReadonlyMap<string, number> = new Map();
  #rules: readonly ModelRewriteRule[] = [];
  #rewrites = new ModelRewrites([]);
  #models: ReadonlySet<string> = new Set();
  #readers: RuleReaders | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  setObjectives(priorities: ReadonlyMap<string, number>): void {
    this.#priorities = priorities;
    this.#readers?.refresh();
  }

  /** Replaces all rewrites. Where several rules name the same model, the first applies. */
  setRewrites(rules: readonly ModelRewriteRule[]): void {
    this.#rules = rules;
    this.#rewrites = new ModelRewrites(rules);
    this.#models = new Set(
      rules.flatMap(({ models, targets }) => [...models, ...targets.map(({ model }) => model)]),
    );
    this.#readers?.refresh();
  }

  /** `readers` get each change. */
  readBy(readers: RuleReaders): void {
    this.#readers = readers;
  }

  /** Calls back once no request comes any more that was read by former rules; perhaps at once. */
  whenAdopted(then: () => void): void {
    if (this.#readers === undefined) then();
    else this.#readers.whenAdopted(then);
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
