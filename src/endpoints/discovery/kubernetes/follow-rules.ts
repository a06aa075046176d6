import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock, Random } from '../../../framework/runtime.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { codeOf } from './api-error.ts';
import { Informer, type ResourceSource } from './informer.ts';
import type { PoolName } from './kube-resources.ts';
import { prioritiesOf, type Read, type RuleObject, rewritesOf } from './rule-objects.ts';
import { type RuleSourceOptions, ruleSource } from './rule-source.ts';

export interface FollowRulesOptions {
  readonly config: KubeConfig;
  readonly pool: PoolName;
  readonly rules: Pick<RequestRules, 'setObjectives' | 'setRewrites'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Once: when both kinds have been listed, may not be, or have not been for 30 s. */
  readonly onSettled: () => void;
  /** What is wrong, in one sentence: not again for as long as it stays. */
  readonly onTrouble: (sentence: string) => void;
}

export interface RuleFollower {
  /** Whether both kinds have been listed; one that is not installed counts. */
  readonly synced: boolean;
  /** What is wrong at the moment, a sentence each. */
  readonly troubles: readonly string[];
  stop(): void;
}

/** Longer than an API server takes to start; then it is better to serve without rules than not at all. */
const SETTLE_MS = 30_000;
const [UNAUTHORIZED, FORBIDDEN] = [401, 403];

type Plural = RuleSourceOptions['plural'];

/** Keeps the rules of requests as a pool's InferenceObjectives and InferenceModelRewrites are. */
export function followRules(options: FollowRulesOptions): RuleFollower {
  const { rules, clock, onSettled } = options;
  const unsettled = new Set<Plural>(['inferenceobjectives', 'inferencemodelrewrites']);
  const limit = clock.setTimer(SETTLE_MS, () => {
    if (unsettled.size === 0) return;
    unsettled.clear();
    onSettled();
  });
  const settle = (plural: Plural): void => {
    if (!unsettled.delete(plural) || unsettled.size > 0) return;
    limit.cancel();
    onSettled();
  };
  const kinds = [
    new KindFollower(options, {
      plural: 'inferenceobjectives',
      read: prioritiesOf,
      apply: (priorities) => rules.setObjectives(priorities),
      settle,
    }),
    new KindFollower(options, {
      plural: 'inferencemodelrewrites',
      read: rewritesOf,
      apply: (rewrites) => rules.setRewrites(rewrites),
      settle,
    }),
  ];
  return {
    get synced() {
      return kinds.every(({ synced }) => synced);
    },
    get troubles() {
      return kinds.flatMap(({ troubles }) => troubles);
    },
    stop: () => {
      limit.cancel();
      for (const kind of kinds) kind.stop();
    },
  };
}

interface Kind<T> {
  readonly plural: Plural;
  readonly read: (objects: Iterable<RuleObject>, pool: PoolName) => Read<T>;
  readonly apply: (value: T) => void;
  /** It has been listed, or may not be. */
  readonly settle: (plural: Plural) => void;
}

class KindFollower<T> {
  readonly #options: FollowRulesOptions;
  readonly #kind: Kind<T>;
  readonly #informer: Informer<RuleObject>;
  /** Why it cannot be followed at the moment. */
  #failure: string | undefined;
  /** What objects cannot be used. */
  #unusable: readonly string[] = [];

  constructor(options: FollowRulesOptions, kind: Kind<T>) {
    this.#options = options;
    this.#kind = kind;
    const { config, pool, clock, random } = options;
    const { plural } = kind;
    this.#informer = new Informer({
      source: this.#noting(ruleSource({ config, namespace: pool.namespace, plural, clock })),
      clock,
      random: random.fork(plural),
      observer: {
        onChange: (objects) => this.#take(objects),
        onTrouble: (sentence) => {
          this.#tell([sentence]);
          this.#failure = sentence;
        },
        onRecovered: () => {
          this.#failure = undefined;
        },
      },
    });
  }

  get synced(): boolean {
    return this.#informer.synced;
  }

  get troubles(): readonly string[] {
    return this.#failure === undefined ? this.#unusable : [this.#failure, ...this.#unusable];
  }

  stop(): void {
    this.#informer.stop();
  }

  #take(objects: ReadonlyMap<string, RuleObject>): void {
    const { read, apply, settle, plural } = this.#kind;
    const { value, troubles } = read(objects.values(), this.#options.pool);
    apply(value);
    this.#tell(troubles);
    this.#unusable = troubles;
    settle(plural);
  }

  /** A server that forbids will do so for long; one that cannot be reached, or is starting, will not. */
  #noting(source: ResourceSource<RuleObject>): ResourceSource<RuleObject> {
    return {
      ...source,
      list: () =>
        source.list().catch((error: unknown) => {
          const status = codeOf(error instanceof Error ? error.cause : undefined);
          if (status === FORBIDDEN || status === UNAUTHORIZED) this.#kind.settle(this.#kind.plural);
          throw error;
        }),
    };
  }

  /** Those that are not told already. */
  #tell(sentences: readonly string[]): void {
    const told = new Set(this.troubles);
    for (const sentence of new Set(sentences)) {
      if (!told.has(sentence)) this.#options.onTrouble(sentence);
    }
  }
}
