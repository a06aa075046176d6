import { messageOf } from '../../../../framework/error.ts';
import type { Clock } from '../../../../framework/runtime.ts';
import { connectApi } from '../api/api-connection.ts';
import { apiStatusOf, explainApiError } from '../api/api-error.ts';
import { objectSource, type PacedServer } from '../api/object-source.ts';
import type { ResourceSource, WatchObserver } from '../watch/informer.ts';
import { leanRule, RULE_GROUPS, type RuleObject } from './rule-objects.ts';

/** The versions of its kinds; `v1` is only in the first group. */
export type RuleVersion = 'v1' | 'v1alpha2';
/** The time until a CRD that is installed later is found. */
const ABSENT_MS = 30_000;
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
}

/** The objects of the group that is installed; until one is, none, and a look every 30 s. */
export function ruleSource(options: RuleSourceOptions): ResourceSource<RuleObject> {
  const { server, namespace, plural, version, clock, onForbidden } = options;
  let source: ResourceSource<RuleObject> | undefined;
  return {
    list: async (visit, signal) => {
      const group = await installedGroup(options);
      const kind = { version, namespace, plural, selector: {}, lean: leanRule };
      source = group === undefined ? undefined : objectSource(server, { ...kind, group });
      if (source === undefined) return '';
      try {
        return await source.list(visit, signal);
      } catch (error) {
        if (onForbidden === undefined || !isForbidden(error)) throw error;
        source = undefined;
        onForbidden(messageOf(error));
        return '';
      }
    },
    watch: (resourceVersion, observer) =>
      source === undefined
        ? absentWatch(clock, observer)
        : source.watch(resourceVersion, {
            onOpen: () => observer.onOpen(),
            onEvent: (event) => observer.onEvent(event),
            // The CRD is removed, perhaps in favour of the other group's.
            onEnd: (status, reason) => observer.onEnd(status === NOT_FOUND ? GONE : status, reason),
          }),
  };
}

function isForbidden(error: unknown): boolean {
  return error instanceof Error && apiStatusOf(error.cause) === FORBIDDEN;
}

/** Ends like a watch whose version the server no longer has, so that a new list follows. */
function absentWatch(clock: Clock, observer: WatchObserver<RuleObject>): { stop(): void } {
  observer.onOpen();
  const timer = clock.setTimer(ABSENT_MS, () => observer.onEnd(GONE, 'the kind is not installed'));
  return { stop: () => timer.cancel() };
}

/** Such a list is some kilobytes. */
const RESOURCES = { bytesMax: 1024 * 1024, timeoutMs: 30_000 } as const;

/**
 * The former group counts where the current one has the kind in no version, as in the reference.
 * Needs no permission. A list of a kind that is not installed would give 403, not 404.
 */
async function installedGroup({
  server: { access },
  plural,
  version,
  onLeftOut,
}: RuleSourceOptions): Promise<string | undefined> {
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
    const found = (await serves(current, version)) ? current : undefined;
    if (version === 'v1' || !(await serves(former, version))) return found;
    if (found === undefined && !(await serves(current, 'v1'))) return former;
    onLeftOut?.(
      `${plural} of ${former} are ignored, because ${current} has that kind: create them there, or delete that definition`,
    );
    return found;
  } finally {
    api.close();
  }
}
