import type { KubeConfig } from '@kubernetes/client-node';
import type { Clock, Random } from '../../../framework/runtime.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { statusOf } from './api-error.ts';
import { Informer, type ResourceSource } from './informer.ts';
import type { PoolName } from './kube-resources.ts';
import { type Parsed, prioritiesOf, type RuleObject, rewritesOf } from './rule-objects.ts';
import { type RuleSourceOptions, ruleSource } from './rule-source.ts';
import { Troubles } from './troubles.ts';

interface FollowRulesOptions {
  readonly config: KubeConfig;
  readonly pool: PoolName;
  readonly rules: Pick<RequestRules, 'setObjectives' | 'setRewrites'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Called once: when both kinds are listed, or forbidden, or not listed within 30 s. */
  readonly onSettled: () => void;
  /** Called with one sentence for each problem; not again for as long as it lasts. */
  readonly onTrouble: (sentence: string) => void;
}

export interface RuleFollower {
  /** Whether both kinds have been listed. A kind that is not installed counts as listed. */
  readonly synced: boolean;
  /** What is wrong at the moment, one sentence each. */
  readonly troubles: readonly string[];
  stop(): void;
}

/** Longer than an API server takes to start. After it, serving without rules is better than not. */
const SETTLE_MS = 30_000;
const [UNAUTHORIZED, FORBIDDEN] = [401, 403];

type Plural = RuleSourceOptions['plural'];

/** Keeps the rules of requests equal to a pool's InferenceObjectives and InferenceModelRewrites. */
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
    followKind(options, {
      plural: 'inferenceobjectives',
      parse: prioritiesOf,
      apply: (priorities) => rules.setObjectives(priorities),
      settle,
    }),
    followKind(options, {
      plural: 'inferencemodelrewrites',
      parse: rewritesOf,
      apply: (rewrites) => rules.setRewrites(rewrites),
      settle,
    }),
  ];
  return {
    get synced() {
      return kinds.every(({ informer }) => informer.synced);
    },
    get troubles() {
      return kinds.flatMap(({ troubles }) => troubles.all);
    },
    stop: () => {
      limit.cancel();
      for (const { informer } of kinds) informer.stop();
    },
  };
}

interface Kind<T> {
  readonly plural: Plural;
  readonly parse: (objects: Iterable<RuleObject>, pool: PoolName) => Parsed<T>;
  readonly apply: (value: T) => void;
  /** Called when the kind is listed, or listing it is forbidden. */
  readonly settle: (plural: Plural) => void;
}

function followKind<T>(
  { config, pool, clock, random, onTrouble }: FollowRulesOptions,
  { plural, parse, apply, settle }: Kind<T>,
): { readonly informer: Informer<RuleObject>; readonly troubles: Troubles } {
  const troubles = new Troubles(onTrouble);
  const source = ruleSource({ config, namespace: pool.namespace, plural, clock });
  const informer = new Informer({
    source: settledIfForbidden(source, () => settle(plural)),
    clock,
    random: random.fork(plural),
    observer: {
      onChange: (objects) => {
        const parsed = parse(objects.values(), pool);
        apply(parsed.value);
        troubles.set('objects', parsed.troubles);
        settle(plural);
      },
      onTrouble: (sentence) => troubles.set('server', [sentence]),
      onRecovered: () => troubles.clear('server'),
    },
  });
  return { informer, troubles };
}

/** A server that forbids a list will do so for long. One that does not answer may start soon. */
function settledIfForbidden(
  source: ResourceSource<RuleObject>,
  settle: () => void,
): ResourceSource<RuleObject> {
  return {
    ...source,
    list: () =>
      source.list().catch((error: unknown) => {
        const status = statusOf(error instanceof Error ? error.cause : undefined);
        if (status === FORBIDDEN || status === UNAUTHORIZED) settle();
        throw error;
      }),
  };
}
