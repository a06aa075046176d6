import { CustomObjectsApi, type KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '../../../framework/runtime.ts';
import { codeOf, sentenceOf } from './api-error.ts';
import type { ResourceSource, WatchHearer } from './informer.ts';
import { objectSource } from './kube-resources.ts';
import { leanRule, type RuleObject } from './rule-objects.ts';

/** Those of the reference, the one it prefers first; objects of the other are not looked at where the first is installed. */
export const RULE_GROUPS = ['llm-d.ai', 'inference.networking.x-k8s.io'] as const;
const VERSION = 'v1alpha2';
/** How soon a CRD is seen that is installed later. */
const ABSENT_MS = 30_000;
const [NOT_FOUND, GONE] = [404, 410];

export interface RuleSourceOptions {
  readonly config: KubeConfig;
  readonly namespace: string;
  readonly plural: 'inferenceobjectives' | 'inferencemodelrewrites';
  readonly clock: Clock;
}

/**
 * InferenceObjectives or InferenceModelRewrites of a namespace, in whichever group is installed. Where none is, there are no
 * objects, and every 30 s it is looked again.
 */
export function ruleSource(options: RuleSourceOptions): ResourceSource<RuleObject> {
  const { config, namespace, plural, clock } = options;
  let source: ResourceSource<RuleObject> | undefined;
  return {
    list: async () => {
      const group = await installedGroup(options);
      const kind = { version: VERSION, namespace, plural, selector: {}, lean: leanRule };
      source = group === undefined ? undefined : objectSource(config, { ...kind, group });
      return source === undefined ? { items: [], resourceVersion: '' } : source.list();
    },
    watch: (resourceVersion, hearer) =>
      source === undefined
        ? absentWatch(clock, hearer)
        : source.watch(resourceVersion, {
            onOpen: () => hearer.onOpen(),
            onEvent: (event) => hearer.onEvent(event),
            // The CRD has gone: perhaps for the other group's.
            onEnd: (status, reason) => hearer.onEnd(status === NOT_FOUND ? GONE : status, reason),
          }),
  };
}

/** Ends as a watch does whose version is forgotten, after which everything is listed anew. */
function absentWatch(clock: Clock, hearer: WatchHearer<RuleObject>): { stop(): void } {
  hearer.onOpen();
  const timer = clock.setTimer(ABSENT_MS, () => hearer.onEnd(GONE, 'the kind is not installed'));
  return { stop: () => timer.cancel() };
}

/** Asks what there is, which everybody may: a list of what is not installed is forbidden before it is not found. */
async function installedGroup({ config, plural }: RuleSourceOptions): Promise<string | undefined> {
  const api = config.makeApiClient(CustomObjectsApi);
  const server = config.getCurrentCluster()?.server ?? '(none in the kubeconfig)';
  for (const group of RULE_GROUPS) {
    try {
      const { resources } = await api.getAPIResources({ group, version: VERSION });
      if (resources.some(({ name }) => name === plural)) return group;
    } catch (error) {
      if (codeOf(error) === NOT_FOUND) continue;
      const what = `${plural}.${group}`;
      throw new Error(sentenceOf(error, { verb: 'list', what, server }), { cause: error });
    }
  }
  return undefined;
}
