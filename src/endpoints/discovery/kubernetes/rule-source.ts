import { CustomObjectsApi, type KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '../../../framework/runtime.ts';
import { apiServerOf, apiStatusOf, explainApiError } from './api-error.ts';
import type { ResourceSource, WatchObserver } from './informer.ts';
import { objectSource } from './kube-resources.ts';
import { leanRule, type RuleObject } from './rule-objects.ts';

/** The reference's API groups. Only the first one that is installed is read. */
export const RULE_GROUPS = ['llm-d.ai', 'inference.networking.x-k8s.io'] as const;
/** The versions of its kinds; `v1` is only in the first group. */
export type RuleVersion = 'v1' | 'v1alpha2';
/** The time until a CRD that is installed later is found. */
const ABSENT_MS = 30_000;
const [NOT_FOUND, GONE] = [404, 410];

export interface RuleSourceOptions {
  readonly config: KubeConfig;
  readonly namespace: string;
  readonly plural: 'inferenceobjectives' | 'inferencemodelrewrites';
  readonly version: RuleVersion;
  readonly clock: Clock;
}

/** The objects of the group that is installed; until one is, none, and a look every 30 s. */
export function ruleSource(options: RuleSourceOptions): ResourceSource<RuleObject> {
  const { config, namespace, plural, version, clock } = options;
  let source: ResourceSource<RuleObject> | undefined;
  return {
    list: async () => {
      const group = await installedGroup(options);
      const kind = { version, namespace, plural, selector: {}, lean: leanRule };
      source = group === undefined ? undefined : objectSource(config, { ...kind, group });
      return source === undefined ? { items: [], resourceVersion: '' } : source.list();
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

/** Ends like a watch whose version the server no longer has, so that a new list follows. */
function absentWatch(clock: Clock, observer: WatchObserver<RuleObject>): { stop(): void } {
  observer.onOpen();
  const timer = clock.setTimer(ABSENT_MS, () => observer.onEnd(GONE, 'the kind is not installed'));
  return { stop: () => timer.cancel() };
}

/** Needs no permission. A list of a kind that is not installed would give 403, not 404. */
async function installedGroup({
  config,
  plural,
  version,
}: RuleSourceOptions): Promise<string | undefined> {
  const api = config.makeApiClient(CustomObjectsApi);
  const server = apiServerOf(config);
  for (const group of version === 'v1' ? RULE_GROUPS.slice(0, 1) : RULE_GROUPS) {
    try {
      const { resources } = await api.getAPIResources({ group, version });
      if (resources.some(({ name }) => name === plural)) return group;
    } catch (error) {
      if (apiStatusOf(error) === NOT_FOUND) continue;
      const what = `${plural}.${group}`;
      throw new Error(explainApiError(error, { verb: 'list', what, server }), { cause: error });
    }
  }
  return undefined;
}
