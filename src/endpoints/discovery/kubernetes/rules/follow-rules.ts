import { Deadline } from '../../../../runtime/clock/deadline.ts';
import type { RequestRules } from '../../../rewrites/request-rules.ts';
import { Troubles } from '../watch/troubles.ts';
import { type KindName, type KindParts, KindRules, type RuleKind } from './kind-rules.ts';
import {
  namesWithoutPool,
  olderOnly,
  prioritiesOf,
  prioritiesOfV1,
  rewritesOf,
} from './rule-objects.ts';
import type { RuleVersion } from './rule-source.ts';

interface FollowRulesOptions extends KindParts {
  readonly rules: Pick<RequestRules, 'setObjectives' | 'setRewrites' | 'whenAdopted'>;
  /**
   * Called once: when both kinds are listed, or forbidden, or not listed within 30 s, and no request
   * comes any more that was read before.
   */
  readonly onSettled: () => void;
  /** Called with one sentence for each problem; not again for as long as it lasts. */
  readonly onTrouble: (sentence: string) => void;
}

export interface RuleFollower {
  /** Whether both kinds have been listed. A kind that is not installed counts as listed. */
  readonly synced: boolean;
  /** What is wrong at the moment, one sentence each. */
  readonly troubles: readonly string[];
  /** The labels of the pool have changed. */
  poolChanged(): void;
  stop(): void;
}

/** Longer than an API server takes to start. After it, serving without rules is better than not. */
const SETTLE_MS = 30_000;

const KINDS: readonly KindName[] = [
  'inferenceobjectives/v1',
  'inferenceobjectives/v1alpha2',
  'inferencemodelrewrites/v1alpha2',
];

/** Keeps the rules of requests equal to a pool's InferenceObjectives and InferenceModelRewrites. */
export function followRules(options: FollowRulesOptions): RuleFollower {
  const { rules, clock, onTrouble } = options;
  // One for all kinds: two versions of a kind have the same troubles.
  const troubles = new Troubles(clock, onTrouble);
  const unsettled = new UnsettledKinds(options);
  const parts = { settle: (kind: KindName) => unsettled.settle(kind), troubles };
  const informers = [
    ...followObjectives(options, parts),
    new KindRules(options, {
      plural: 'inferencemodelrewrites',
      version: 'v1alpha2',
      parse: rewritesOf,
      apply: (rewrites) => rules.setRewrites(rewrites),
      ...parts,
    }),
  ];
  return {
    get synced() {
      return informers.every(({ synced }) => synced);
    },
    get troubles() {
      return [...new Set(troubles.all)];
    },
    poolChanged: () => {
      for (const informer of informers) informer.again();
    },
    stop: () => {
      unsettled.stop();
      for (const informer of informers) informer.stop();
    },
  };
}

/** The kinds that are neither listed nor forbidden yet. For a time, and then no more. */
class UnsettledKinds {
  readonly #kinds = new Set<KindName>(KINDS);
  readonly #limit: Deadline;
  readonly #options: Pick<FollowRulesOptions, 'clock' | 'rules' | 'onSettled'>;
  #isStopped = false;

  constructor(options: Pick<FollowRulesOptions, 'clock' | 'rules' | 'onSettled'>) {
    this.#options = options;
    this.#limit = new Deadline(options.clock, SETTLE_MS, () => {
      if (this.#kinds.size === 0) return;
      this.#kinds.clear();
      this.#settled();
    });
    this.#limit.restart();
  }

  settle(kind: KindName): void {
    if (!this.#kinds.delete(kind) || this.#kinds.size > 0) return;
    this.#limit.stop();
    this.#settled();
  }

  stop(): void {
    this.#isStopped = true;
    this.#limit.stop();
  }

  #settled(): void {
    const { rules, onSettled } = this.#options;
    rules.whenAdopted(() => {
      if (!this.#isStopped) onSettled();
    });
  }
}

/** Both versions. Where an objective is in both, the newer one counts, as in the reference. */
function followObjectives(
  options: FollowRulesOptions,
  parts: Pick<RuleKind<unknown>, 'settle' | 'troubles'>,
): readonly KindRules<Priorities>[] {
  const listed = new Map<RuleVersion, ReadonlyMap<string, number>>();
  let withoutPool: ReadonlySet<string> = new Set();
  const follow = (
    version: RuleVersion,
    parse: RuleKind<Priorities>['parse'],
  ): KindRules<Priorities> =>
    new KindRules(options, {
      plural: 'inferenceobjectives',
      version,
      parse,
      apply: (priorities) => {
        listed.set(version, priorities);
        const [older = [], newer = []] = [listed.get('v1alpha2'), listed.get('v1')];
        options.rules.setObjectives(new Map([...older, ...newer]));
      },
      ...parts,
    });
  const older = follow('v1alpha2', (objects, pool) =>
    prioritiesOf(olderOnly(objects, withoutPool), pool),
  );
  const newer = follow('v1', (objects, pool) => {
    const all = [...objects];
    withoutPool = namesWithoutPool(all);
    older.again();
    return prioritiesOfV1(all, pool);
  });
  return [newer, older];
}

type Priorities = ReadonlyMap<string, number>;
