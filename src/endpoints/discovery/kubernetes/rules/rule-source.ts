import { messageOf } from '../../../../framework/error.ts';
import type { Clock } from '../../../../framework/runtime.ts';
import { connectApi } from '../api/api-connection.ts';
import { apiStatusOf, explainApiError } from '../api/kubernetes-error.ts';
import { objectSource, type PacedServer } from '../api/object-source.ts';
import type { ResourceSource, WatchObserver } from '../watch/informer.ts';
import { leanRule, RULE_GROUPS, type RuleObject } from './rule-objects.ts';

/** The versions of its kinds; `v1` is only in the first group. */
export type RuleVersion = 'v1' | 'v1alpha2';
/** The time until a CRD that is installed later, or a right that is given later, is found. */
const AGAIN_MS = 30_000;
const [FORBIDDEN, NOT_FOUND, GONE] = [403, 404, 410];

export interface RuleSourceOptions {
  readonly server: PacedServer;
  readonly namespace: string;
  readonly plural: 'inferenceobjectives' | 'inferencemodelrewrites';
  readonly version: RuleVersion;
  readonly clock: Clock;
  /**
   * Called with one sentence where the kind may not be listed, which then counts as not installed.
   * Undefined: that is an error.
   */
  readonly onForbidden: ((sentence: string) => void) | undefined;
  /** Called with one sentence where the former group's objects do not count beside the current. */
  readonly onLeftOut: ((sentence: string) => void) | undefined;
  /**
   * Called at each list: with one sentence where the former group's objects count, because those of
   * the current one may not be listed; else with undefined.
   */
  readonly onFormer?: (sentence: string | undefined) => void;
}

/** Where a kind is, and where else, if its objects there may not be listed. */
interface Groups {
  readonly group: string | undefined;
  /** The group that has the kind in its newer version only, so that the former one's do not count. */
  readonly newer?: string;
  readonly otherwise?: string;
}

/**
 * The objects of the group that is installed; until one is, none, and a look every 30 s. Where both
 * are, and only the former one's may be listed, those: so it is with a role of the Inference
 * Extension's chart in a cluster that has the definitions of both.
 */
export class RuleSource implements ResourceSource<RuleObject> {
  readonly #options: RuleSourceOptions;
  /** The resource of the last list; undefined where the cluster did not have it. */
  #source: ResourceSource<RuleObject> | undefined;
  #isFormer = false;

  constructor(options: RuleSourceOptions) {
    this.#options = options;
  }

  async list(...asked: ListArguments): Promise<string> {
    const { plural, version, onLeftOut, onFormer } = this.#options;
    const { group, newer, otherwise } = await installedGroups(this.#options);
    this.#source = group === undefined ? undefined : sourceIn(group, this.#options);
    this.#isFormer = false;
    const listed = newer === undefined ? this.#source : probeOf(newer, this.#options);
    if (listed === undefined) {
      onFormer?.(undefined);
      return '';
    }
    try {
      const resourceVersion = await listed.list(...asked);
      if (otherwise !== undefined && version !== 'v1') onLeftOut?.(ignored(plural));
      onFormer?.(undefined);
      return resourceVersion;
    } catch (error) {
      if (!isForbidden(error)) throw error;
      this.#source = undefined;
      return await this.#listFormer(otherwise, error, asked);
    }
  }

  /** The current group may not be listed. */
  async #listFormer(
    group: string | undefined,
    forbidden: unknown,
    asked: ListArguments,
  ): Promise<string> {
    const former = group === undefined ? undefined : formerSource(group, forbidden, this.#options);
    const resourceVersion = await former?.list(...asked).catch(unlessForbidden);
    if (resourceVersion === undefined) {
      this.#options.onFormer?.(undefined);
      return unlisted(forbidden, this.#options);
    }
    this.#source = former;
    this.#isFormer = true;
    return resourceVersion;
  }

  watch(resourceVersion: string, observer: WatchObserver<RuleObject>): { stop(): void } {
    const { clock } = this.#options;
    if (this.#source === undefined) return absentWatch(clock, observer);
    return this.#isFormer
      ? limitedWatch(this.#source, resourceVersion, { clock, observer })
      : this.#source.watch(resourceVersion, untilRemoved(observer));
  }
}

type ListArguments = Parameters<ResourceSource<RuleObject>['list']>;

/** A CRD may be removed, perhaps in favour of the other group's: then a new list follows. */
function untilRemoved(observer: WatchObserver<RuleObject>): WatchObserver<RuleObject> {
  return {
    onOpen: () => observer.onOpen(),
    onEvent: (event) => observer.onEvent(event),
    onEnd: (status, reason) => observer.onEnd(status === NOT_FOUND ? GONE : status, reason),
  };
}

/**
 * Ends soon, and where it may not be watched any more, so that the current group counts when its
 * objects may be listed.
 */
function limitedWatch(
  source: ResourceSource<RuleObject>,
  resourceVersion: string,
  { clock, observer }: { readonly clock: Clock; readonly observer: WatchObserver<RuleObject> },
): { stop(): void } {
  const timer = clock.setTimer(AGAIN_MS, () => {
    watch.stop();
    observer.onEnd(GONE, 'the current group may be listed now');
  });
  const following = untilRemoved(observer);
  const watch = source.watch(resourceVersion, {
    ...following,
    onEnd: (status, reason) => {
      timer.cancel();
      // The right may have moved to the current group, which only a list finds out.
      following.onEnd(status === FORBIDDEN ? GONE : status, reason);
    },
  });
  return {
    stop: () => {
      timer.cancel();
      watch.stop();
    },
  };
}

function sourceIn(
  group: string,
  { server, namespace, plural, version }: RuleSourceOptions,
): ResourceSource<RuleObject> {
  const kind = { group, version, namespace, plural, selector: {}, lean: leanRule };
  return objectSource(server, kind);
}

/** Finds whether the newer version may be listed, whose objects another source has. */
function probeOf(
  group: string,
  options: RuleSourceOptions,
): Pick<ResourceSource<RuleObject>, 'list'> {
  const newer = sourceIn(group, { ...options, version: 'v1' });
  return {
    list: async (_visit, signal) => {
      await newer.list(() => undefined, signal);
      return '';
    },
  };
}

const NONE: ResourceSource<RuleObject> = {
  list: () => Promise.resolve(''),
  watch: (_resourceVersion, observer) => {
    observer.onOpen();
    return { stop: () => undefined };
  },
};

/** The same kind in the former group, which says so where it may be listed. */
function formerSource(
  group: string,
  forbidden: unknown,
  options: RuleSourceOptions,
): ResourceSource<RuleObject> {
  const { version, onForbidden, onFormer } = options;
  // Only the current group has this version. The informer of the other version says the rest.
  if (version === 'v1') return NONE;
  const source = sourceIn(group, options);
  return {
    ...source,
    list: async (visit, signal) => {
      const resourceVersion = await source.list(visit, signal);
      const sentence = `${messageOf(forbidden)}; until then those of ${group} count`;
      (onForbidden ?? onFormer)?.(sentence);
      return resourceVersion;
    },
  };
}

/** Throws the error, unless such a kind counts as not installed. */
function unlisted(error: unknown, { onForbidden }: RuleSourceOptions): string {
  if (onForbidden === undefined) throw error;
  onForbidden(messageOf(error));
  return '';
}

function unlessForbidden(error: unknown): undefined {
  if (!isForbidden(error)) throw error;
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && apiStatusOf(error.cause) === FORBIDDEN;
}

/** Ends like a watch whose version the server no longer has, so that a new list follows. */
function absentWatch(clock: Clock, observer: WatchObserver<RuleObject>): { stop(): void } {
  observer.onOpen();
  const timer = clock.setTimer(AGAIN_MS, () => observer.onEnd(GONE, 'the kind is not installed'));
  return { stop: () => timer.cancel() };
}

/** Such a list is some kilobytes. */
const RESOURCES = { bytesMax: 1024 * 1024, timeoutMs: 30_000 } as const;

/**
 * The former group counts where the current one has the kind in no version, as in the reference.
 * Needs no permission. A list of a kind that is not installed would give 403, not 404.
 */
async function installedGroups({
  server: { access },
  plural,
  version,
}: RuleSourceOptions): Promise<Groups> {
  const { server } = access;
  const api = await connectApi(access);
  const serves = async (group: string, version: RuleVersion): Promise<boolean> => {
    try {
      const text = await api.text({ path: `/apis/${group}/${version}` }, RESOURCES);
      const { resources = [] } = JSON.parse(text) as { resources?: readonly { name: string }[] };
      return resources.some(({ name }) => name === plural);
    } catch (error) {
      if (apiStatusOf(error) === NOT_FOUND) return false;
      const what = `${plural}.${group}`;
      throw new Error(explainApiError(error, { verb: 'list', what, server }), { cause: error });
    }
  };
  const [current, former] = RULE_GROUPS;
  try {
    const group = (await serves(current, version)) ? current : undefined;
    const hasFormer = await serves(former, 'v1alpha2');
    if (!hasFormer) return { group };
    if (version === 'v1' || group !== undefined) return { group, otherwise: former };
    const isNewer = await serves(current, 'v1');
    return isNewer ? { group, newer: current, otherwise: former } : { group: former };
  } finally {
    api.close();
  }
}

function ignored(plural: RuleSourceOptions['plural']): string {
  const [current, former] = RULE_GROUPS;
  return `${plural} of ${former} are ignored, because ${current} has that kind: create them there, or delete that definition`;
}
