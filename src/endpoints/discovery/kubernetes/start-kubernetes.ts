import type { Clock, Random } from '../../../framework/runtime.ts';
import type { EndpointPool, EndpointSink } from '../../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../../runtime/log/log.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import type { ApiAccess } from './api/api-access.ts';
import type { PacedServer } from './api/object-source.ts';
import { Pace } from './api/pace.ts';
import { EmptyPoolLog } from './pool/empty-pool-log.ts';
import {
  A_SECOND_MIN,
  AT_ONCE_MIN,
  CLUSTER_ENDPOINTS_MAX,
  HeldEndpoints,
  type WaitReason,
} from './pool/held-endpoints.ts';
import type { InferencePoolSpec } from './pool/inference-pool.ts';
import { PoolFollower } from './pool/pool-follower.ts';
import type { PoolLabels } from './pool/pool-labels.ts';
import { type PoolName, poolSources } from './pool/pool-sources.ts';
import { followRules, type RuleFollower } from './rules/follow-rules.ts';

interface KubernetesOptions {
  readonly access: ApiAccess;
  readonly pool: PoolName;
  /** The pods and ports of the pool, where there is no InferencePool. */
  readonly spec?: InferencePoolSpec | undefined;
  /** Labels that endpoints take from the nodes of their pods. With none, nodes are not read. */
  readonly nodeLabels?: readonly string[] | undefined;
  /** Called with what the pool speaks, when that changes. */
  readonly onAppProtocol?: ((appProtocol: string | undefined) => void) | undefined;
  /** Called with whether the pool exists, its endpoints are known, and requests can go to them. */
  readonly onReady?: ((ready: boolean) => void) | undefined;
  readonly endpoints: EndpointPool;
  /** What puts a server's ranks into `endpoints`; undefined: each port is one endpoint. */
  readonly ranks?: EndpointSink | undefined;
  /** Gets the InferenceObjectives and InferenceModelRewrites; undefined: they are not read. */
  readonly rules?: Pick<RequestRules, 'setObjectives' | 'setRewrites' | 'whenAdopted'> | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface KubernetesDiscovery
  extends Pick<PoolFollower, 'synced' | 'ageMs' | 'troubles' | 'groups' | 'hasPodAt'> {
  /** Whether the pool's rules have been listed. A kind that is not installed counts as listed. */
  readonly rulesSynced: boolean;
  /** How long answers of the API server have waited to be read, because they came too fast. */
  readonly readingWaitedMs: number;
  /** Counts the groups of pods that are endpoints, and those that are not whole. */
  stop(): void;
}

/** What reading the API server's answers may take of the time: usually it takes a hundredth. */
const SHARE = 0.1;
/** Before there are endpoints, nothing else has to be done. */
const SHARE_AT_START = 0.5;
const LATE =
  'the API server sends more than the picker reads in a tenth of its time, so that changes are seen late: see who changes the objects so often';
const WAITING: Readonly<Record<WaitReason, string>> = {
  full: `more than ${CLUSTER_ENDPOINTS_MAX} endpoints match the pool; the others wait until some leave: give the pool a narrower selector`,
  pace: `pods become ready faster than they are taken up, which is ${AT_ONCE_MIN} at once and ${A_SECOND_MIN} a second at least, so that new ones wait for requests: see who makes so many, or whose readiness changes so often`,
};

/**
 * Keeps the endpoint pool equal to an InferencePool's ready pods and whole groups. Requests in
 * flight at others continue. Endpoints are added only once the rules are known wherever requests are
 * read: else a request could reach a model that a rule replaces.
 */
export function startKubernetes(options: KubernetesOptions): KubernetesDiscovery {
  const { access, pool, spec, nodeLabels = [], clock, random, log } = options;
  const held = heldFor(options, () => follower);
  const ruled = { ...options.pool, labels: {} as PoolLabels };
  const readiness = new PoolReadiness(options.onReady);
  const server = { access, pace: paceOf(clock, () => follower) };
  const follower: PoolFollower = new PoolFollower({
    sources: poolSources(server, pool, { nodeLabels, spec }),
    poolName: pool,
    endpoints: held,
    onAppProtocol: options.onAppProtocol,
    onLabels: (labels) => {
      ruled.labels = labels;
      followed?.poolChanged();
    },
    onKnown: (known) => readiness.known(known),
    clock,
    random,
    log,
  });
  const followed: RuleFollower | undefined = startRules({ ...options, pool: ruled }, server, () => {
    held.release();
    readiness.released();
  });
  options.endpoints.filledBy(follower);
  const ends = [logEmptiness(options), held];
  return running({ follower, followed, pace: server.pace, ends });
}

interface Running {
  readonly follower: PoolFollower;
  readonly followed: RuleFollower | undefined;
  readonly pace: Pace;
  /** What is stopped before the followers. */
  readonly ends: readonly { stop(): void }[];
}

/** What is known of a pool and its rules while they are followed. */
function running({ follower, followed, pace, ends }: Running): KubernetesDiscovery {
  return {
    get synced() {
      return follower.synced;
    },
    get rulesSynced() {
      return followed?.synced ?? true;
    },
    get ageMs() {
      return follower.ageMs;
    },
    get troubles() {
      return [...follower.troubles, ...(followed?.troubles ?? [])];
    },
    get readingWaitedMs() {
      return pace.waitedMs;
    },
    get groups() {
      return follower.groups;
    },
    hasPodAt: (server) => follower.hasPodAt(server),
    stop: () => {
      for (const each of ends) each.stop();
      follower.stop();
      followed?.stop();
      pace.stop();
    },
  };
}

function logEmptiness({ endpoints, clock, log, pool }: KubernetesOptions): EmptyPoolLog {
  const isEmpty = (): boolean => endpoints.snapshot().length === 0;
  return new EmptyPoolLog({ clock, log, pool, isEmpty, why: () => endpoints.whyEmpty });
}

/**
 * Calls `onReady` when the endpoints and the rules of the pool are known, so that requests can be
 * sent.
 */
class PoolReadiness {
  readonly #onReady: KubernetesOptions['onReady'];
  #known = false;
  #released = false;

  constructor(onReady: KubernetesOptions['onReady']) {
    this.#onReady = onReady;
  }

  known(known: boolean): void {
    this.#known = known;
    this.#onReady?.(known && this.#released);
  }

  released(): void {
    this.#released = true;
    this.#onReady?.(this.#known);
  }
}

/**
 * Follows the rules of the pool, if they are asked for; `onSettled` is called when they are known.
 */
function startRules(
  { pool, spec, rules, clock, random, log }: KubernetesOptions,
  server: PacedServer,
  onSettled: () => void,
): RuleFollower | undefined {
  if (rules === undefined) {
    onSettled();
    return undefined;
  }
  const onTrouble = (reason: string): void => log.warn({ pool, reason }, 'Kubernetes');
  const said = new Set<string>();
  const onLeftOut = (reason: string): void => {
    if (!said.has(reason)) log.info({ pool, reason }, 'these rules are left out');
    said.add(reason);
  };
  return followRules({
    server,
    pool,
    rules,
    clock,
    random: random.fork('rules'),
    onSettled,
    onTrouble,
    // Without an InferencePool, the reference's chart gives no right to read rules.
    onForbidden: spec === undefined ? undefined : onLeftOut,
    onLeftOut,
  });
}

function paceOf(clock: Clock, follower: () => Pick<PoolFollower, 'synced' | 'note'>): Pace {
  return new Pace({
    clock,
    share: () => (follower().synced ? SHARE : SHARE_AT_START),
    onLate: (late) => follower().note('pace', late ? LATE : undefined),
  });
}

function heldFor(
  { endpoints, ranks = endpoints, clock }: KubernetesOptions,
  follower: () => Pick<PoolFollower, 'note'>,
): HeldEndpoints {
  const onWaiting = (why: WaitReason | undefined): void =>
    follower().note('endpoints', why && WAITING[why]);
  return new HeldEndpoints({ pool: ranks, clock, onWaiting });
}
