import type { Registry } from 'prom-client';
import {
  type Discovery,
  startFileDiscovery,
} from '../../endpoints/discovery/file/file-discovery.ts';
import { parseStaticEndpoints } from '../../endpoints/discovery/file/static-discovery.ts';
import type { KubernetesDiscovery } from '../../endpoints/discovery/kubernetes/start-kubernetes.ts';
import type { FollowedName } from '../../endpoints/discovery/names/follow-name.ts';
import { ResolvedEndpoints } from '../../endpoints/discovery/names/resolved-endpoints.ts';
import { RankedEndpoints } from '../../endpoints/discovery/ranks/ranked-endpoints.ts';
import type { RequestRules } from '../../endpoints/rewrites/request-rules.ts';
import {
  labelNames,
  type TopologyLabels,
  topologyExtractor,
} from '../../endpoints/scraping/topology-extractor.ts';
import type { ResolvedName } from '../../framework/runtime.ts';
import { registerKubernetesMetrics } from '../../journal/metrics/pool/kubernetes-metrics.ts';
import {
  registerEndpointsFile,
  registerHostNames,
} from '../../journal/metrics/pool/pool-metrics.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { RealRuntime } from '../../runtime/real-runtime.ts';
import type { ServingState } from '../lifecycle/serving-state.ts';
import type { ServeOptions } from '../options/serve-options.ts';

/** The picker serves without the addresses of names that take longer. */
const NAMES_WAIT_MS = 2000;

/** Adds the endpoints and follows their source, which is one of two. Rejects with a ConfigError. */
export async function followEndpoints(
  options: ServeOptions,
  { picker, runtime, rules, metrics, serving }: FollowParts,
): Promise<{
  readonly kubernetes: KubernetesDiscovery | undefined;
  readonly discovery: ListedEndpoints | undefined;
}> {
  const kubernetes = await startKubernetesDiscovery(options, { picker, runtime, rules, serving });
  const discovery =
    kubernetes === undefined ? await startDiscovery(options, picker, runtime, rules) : undefined;
  if (kubernetes !== undefined) registerKubernetesMetrics(metrics.registry, kubernetes);
  registerHostNames(metrics.registry, () => discovery?.names.names() ?? []);
  if (discovery?.file !== undefined) registerEndpointsFile(metrics.registry, discovery.file);
  return { kubernetes, discovery };
}

interface FollowParts {
  readonly picker: EndpointPicker;
  readonly runtime: RealRuntime;
  readonly rules: RequestRules;
  readonly metrics: { readonly registry: Registry };
  readonly serving: Pick<ServingState, 'setPoolProtocol' | 'setPoolKnown'>;
}

/** Follows an InferencePool; undefined without --pool-namespace. */
async function startKubernetesDiscovery(
  { pool: { kubernetes, dataParallelSize: size = 1 }, plan, log }: ServeOptions,
  { picker, runtime, rules, serving }: Omit<FollowParts, 'metrics'>,
): Promise<KubernetesDiscovery | undefined> {
  if (kubernetes === undefined) return undefined;
  // Loaded only where it is used: the client of Kubernetes takes longer than all else together.
  const { startKubernetes } = await import(
    '../../endpoints/discovery/kubernetes/start-kubernetes.ts'
  );
  const random = runtime.random.fork('kubernetes');
  const onAppProtocol = (appProtocol?: string): void => serving.setPoolProtocol(appProtocol);
  const onReady = (ready: boolean): void => serving.setPoolKnown(ready);
  const ranks = new RankedEndpoints({ pool: picker.pool, size, log });
  const parts = { endpoints: picker.pool, ranks, rules, clock: runtime.clock, random, log };
  const callbacks = { onAppProtocol, onReady };
  return startKubernetes({ ...kubernetes, nodeLabels: nodeLabels(plan), ...parts, ...callbacks });
}

/** Endpoints of flags and files, whose host names are followed. */
export interface ListedEndpoints {
  readonly file: Discovery | undefined;
  readonly names: Pick<ResolvedEndpoints, 'names'>;
  stop(): Promise<void>;
}

/**
 * Adds the listed endpoints, and follows a file if there is one. Resolves when all host names have
 * been asked for once, or after a time. Rejects with a ConfigError.
 */
async function startDiscovery(
  options: ServeOptions,
  { pool }: EndpointPicker,
  { clock, network }: RealRuntime,
  rules: RequestRules,
): Promise<ListedEndpoints> {
  const { log } = options;
  const { endpoints, dnsKeepMs: keepMs, dataParallelSize: size = 1 } = options.pool;
  const resolve = (name: string): Promise<ResolvedName> => network.resolve(name);
  const ranks = new RankedEndpoints({ pool, size, log });
  const names = new ResolvedEndpoints({ pool: ranks, resolve, clock, keepMs, log });
  for (const spec of parseStaticEndpoints(endpoints)) names.upsert(spec);
  const file = startFile(options, names, rules);
  pool.filledBy({
    get whyEmpty() {
      return whyNoneListed(names.names(), file);
    },
  });
  const late = new Promise<void>((done) => void clock.setTimer(NAMES_WAIT_MS, done));
  await Promise.race([names.asked(), late]);
  return {
    file,
    names,
    stop: async () => {
      names.stop();
      await file?.stop();
    },
  };
}

/** Why no endpoint is listed, for `/readyz`, the page, the log and refused requests. */
export function whyNoneListed(
  names: readonly FollowedName[],
  file: Pick<Discovery, 'lastError'> | undefined,
): string {
  const [first] = names;
  if (first !== undefined) {
    const why = first.error === undefined ? '' : ` (${first.error})`;
    return names.length === 1
      ? `the host name ${first.name} is not resolved${why}`
      : `none of ${names.length} host names of model servers is resolved, such as ${first.name}${why}`;
  }
  if (file === undefined) return 'no --endpoints, --endpoints-file or --pool-name is given';
  return file.lastError() === undefined
    ? 'the endpoints file names no model server'
    : 'the endpoints file is refused';
}

function startFile(
  { pool: { endpointsFile }, plan, log }: ServeOptions,
  pool: ResolvedEndpoints,
  rules: RequestRules,
): Discovery | undefined {
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
