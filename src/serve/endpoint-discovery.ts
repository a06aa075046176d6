import { type Discovery, startFileDiscovery } from '../endpoints/discovery/file/file-discovery.ts';
import { parseStaticEndpoints } from '../endpoints/discovery/file/static-discovery.ts';
import {
  type KubernetesDiscovery,
  startKubernetes,
} from '../endpoints/discovery/kubernetes/start-kubernetes.ts';
import type { RequestRules } from '../endpoints/rewrites/request-rules.ts';
import {
  labelNames,
  type TopologyLabels,
  topologyExtractor,
} from '../endpoints/scraping/topology-extractor.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import type { RealRuntime } from '../runtime/real-runtime.ts';
import type { ServeOptions } from './serve-options.ts';

/** Follows an InferencePool; undefined without --pool-namespace. */
export function startKubernetesDiscovery(
  { kubernetes, plan, log }: ServeOptions,
  picker: EndpointPicker,
  { clock, random: parent }: RealRuntime,
  rules: RequestRules,
): KubernetesDiscovery | undefined {
  if (kubernetes === undefined) return undefined;
  const random = parent.fork('kubernetes');
  const parts = { endpoints: picker.pool, rules, clock, random, log };
  return startKubernetes({ ...kubernetes, nodeLabels: nodeLabels(plan), ...parts });
}

/** Adds the listed endpoints, and follows a file if there is one. Throws ConfigError. */
export function startDiscovery(
  options: ServeOptions,
  { pool }: EndpointPicker,
  rules: RequestRules,
): Discovery | undefined {
  const { endpointsFile, plan, log } = options;
  for (const spec of parseStaticEndpoints(options.endpoints)) pool.upsert(spec);
  // A file named on the command line is always watched; --endpoints gives a fixed list.
  if (endpointsFile !== undefined) {
    return startFileDiscovery({ path: endpointsFile, watchFile: true, pool, rules, log });
  }
  return plan.discovery && startFileDiscovery({ ...plan.discovery, pool, rules, log });
}

/** The node labels that a plan's plugins read. */
function nodeLabels({ plugins }: Pick<PickerPlan, 'plugins'>): readonly string[] {
  const names = plugins
    .filter(({ definition }) => definition.type === topologyExtractor.type)
    .flatMap(({ config }) => Object.values(labelNames(config as TopologyLabels)));
  return [...new Set(names)];
}
