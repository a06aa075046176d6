import type { Clock, Random } from '../../../../framework/runtime.ts';
import { Deadline } from '../../../../runtime/clock/deadline.ts';
import type { RequestRules } from '../../../rewrites/request-rules.ts';
import { apiStatusOf } from '../api/kubernetes-error.ts';
import type { PacedServer } from '../api/object-source.ts';
import { Informer, type ResourceSource } from '../watch/informer.ts';
import { Spaced } from '../watch/spaced.ts';
import { Troubles } from '../watch/troubles.ts';
import {
  namesWithoutPool,
  olderOnly,
  type Parsed,
  prioritiesOf,
  prioritiesOfV1,
  type RuledPool,
  type RuleObject,
  rewritesOf,
} from './rule-objects.ts';
import { type RuleSourceOptions, type RuleVersion, ruleSource } from './rule-source.ts';

interface FollowRulesOptions {
  readonly server: PacedServer;
  /** Its labels may change: then `poolChanged` must be called. */
  readonly pool: RuledPool;
  readonly rules: Pick<RequestRules, 'setObjectives' | 'setRewrites'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Called once: when both kinds are listed, or forbidden, or not listed within 30 s. */
  readonly onSettled: () => void;
  /** Called with one sentence for each problem; not again for as long as it lasts. */
  readonly onTrouble: (sentence: string) => void;
  /** Called where a kind may not be listed, which then is no trouble; undefined: it is one. */
  readonly onForbidden?: RuleSourceOptions['onForbidden'];
  /** Called, again at each list, with why objects of the former group do not count. */
  readonly onLeftOut?: RuleSourceOptions['onLeftOut'];
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
const [UNAUTHORIZED, FORBIDDEN] = [401, 403];

type KindName = `${RuleSourceOptions['plural']}/${RuleVersion}`;

const KINDS: readonly KindName[] = [
  'inferenceobjectives/v1',
  'inferenceobjectives/v1alpha2',
  'inferencemodelrewrites/v1alpha2',
];

/** Keeps the rules of requests equal to a pool's InferenceObjectives and InferenceModelRewrites. */
export function followRules(options: FollowRulesOptions): RuleFollower {
  const { rules, clock, onSettled, onTrouble } = options;
  // One for all kinds: two versions of a kind have the same troubles.
  const troubles = new Troubles(clock, onTrouble);
  const unsettled = new Set<KindName>(KINDS);
  const limit = new Deadline(clock, SETTLE_MS, () => {
    if (unsettled.size === 0) return;
    unsettled.clear();
    onSettled();
  });
  limit.restart();
  const settle = (kind: KindName): void => {
    if (!unsettled.delete(kind) || unsettled.size > 0) return;
    limit.stop();
    onSettled();
  };
  const informers = [
    ...followObjectives(options, { settle, troubles }),
    followKind(options, {
      plural: 'inferencemodelrewrites',
      version: 'v1alpha2',
      parse: rewritesOf,
      apply: (rewrites) => rules.setRewrites(rewrites),
      settle,
      troubles,
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
      limit.stop();
      for (const informer of informers) informer.stop();
    },
  };
}

/** Both versions. Where an objective is in both, the newer one counts, as in the reference. */
function followObjectives(
  options: FollowRulesOptions,
  parts: Pick<Kind<unknown>, 'settle' | 'troubles'>,
): readonly FollowedKind[] {
  const listed = new Map<RuleVersion, ReadonlyMap<string, number>>();
  let withoutPool: ReadonlySet<string> = new Set();
  const follow = (version: RuleVersion, parse: Kind<Priorities>['parse']): FollowedKind =>
    followKind(options, {
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

interface Kind<T> {
  readonly plural: RuleSourceOptions['plural'];
  readonly version: RuleVersion;
  readonly parse: (objects: Iterable<RuleObject>, pool: RuledPool) => Parsed<T>;
  readonly apply: (value: T) => void;
  /** Called when the kind is listed, or listing it is forbidden. */
  readonly settle: (kind: KindName) => void;
  readonly troubles: Troubles;
}

type FollowedKind = Pick<Informer<RuleObject>, 'synced' | 'stop'> & {
  /** Reads the objects again, if they are listed. */
  again(): void;
};

function followKind<T>(options: FollowRulesOptions, kind: Kind<T>): FollowedKind {
  const { pool, clock, random } = options;
  const { plural, version, parse, apply, settle, troubles } = kind;
  const name: KindName = `${plural}/${version}`;
  const edits = new Spaced(clock);
  let listed: ReadonlyMap<string, RuleObject> | undefined;
  const read = (): void => {
    if (listed === undefined) return;
    const parsed = parse(listed.values(), pool);
    apply(parsed.value);
    troubles.set(`objects of ${name}`, parsed.troubles);
    settle(name);
  };
  const informer = new Informer({
    source: settledIfForbidden(sourceOf(options, kind), () => settle(name)),
    clock,
    random: random.fork(name),
    observer: {
      onChange: (objects) => {
        listed = objects;
        edits.run(read);
      },
      onTrouble: (sentence) => troubles.set(`server of ${name}`, [sentence]),
      onRecovered: () => troubles.clear(`server of ${name}`),
      onLeftOut: (some) => {
        if (some) troubles.set(`room for ${name}`, [leftOut(name)]);
        else troubles.clear(`room for ${name}`);
      },
    },
  });
  return {
    get synced() {
      return informer.synced;
    },
    again: () => edits.run(read),
    stop: () => {
      edits.stop();
      informer.stop();
    },
  };
}

function sourceOf<T>(
  { server, pool, clock, onForbidden, onLeftOut }: FollowRulesOptions,
  { plural, version, troubles }: Kind<T>,
): ResourceSource<RuleObject> {
  return ruleSource({
    server,
    namespace: pool.namespace,
    plural,
    version,
    clock,
    onForbidden,
    onLeftOut,
    onFormer: (sentence) =>
      troubles.set(`right of ${plural}/${version}`, sentence === undefined ? [] : [sentence]),
  });
}

function leftOut(name: KindName): string {
  return `some ${name} are left out, because they are too large or too many: split large ones, and delete those that no pool needs`;
}

/** A server that forbids a list will do so for long. One that does not answer may start soon. */
function settledIfForbidden(
  source: ResourceSource<RuleObject>,
  settle: () => void,
): ResourceSource<RuleObject> {
  return {
    ...source,
    list: (visit, signal) =>
      source.list(visit, signal).catch((error: unknown) => {
        const status = apiStatusOf(error instanceof Error ? error.cause : undefined);
        if (status === FORBIDDEN || status === UNAUTHORIZED) settle();
        throw error;
      }),
  };
}
