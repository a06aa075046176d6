import type { KubeConfig } from '@kubernetes/client-node';
import type { EndpointPool } from '../datalayer/endpoint-pool.ts';
import type { EndpointId } from '../framework/endpoint.ts';
import type { Clock, Millis, Random } from '../framework/runtime.ts';
import type { Log } from '../observability/log.ts';
import { Informer } from './informer.ts';
import { type PoolName, podSource, poolSource } from './kube-resources.ts';
import { endpointsOf, type InferencePool, type Pod, selectorOf } from './pool-endpoints.ts';

export interface KubernetesOptions {
  readonly config: KubeConfig;
  readonly pool: PoolName;
  readonly endpoints: EndpointPool;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface KubernetesDiscovery {
  /** Whether pool and pods have been listed; an absent pool counts, with no endpoints. */
  readonly synced: boolean;
  /** How old the older of the two states is, while the API server is away; undefined before it was reached. */
  readonly ageMs: Millis | undefined;
  stop(): void;
}

/**
 * Keeps the endpoint pool as an InferencePool and its pods are. An endpoint leaves the moment its pod is not ready, is being
 * deleted or evicted; requests in flight there go on. While the API server is away the last state serves.
 */
export function startKubernetes(options: KubernetesOptions): KubernetesDiscovery {
  return new PoolFollower(options);
}

class PoolFollower implements KubernetesDiscovery {
  readonly #options: KubernetesOptions;
  readonly #pools: Informer<InferencePool>;
  #pool: InferencePool | undefined;
  #selector: string | undefined;
  #pods: Informer<Pod> | undefined;
  #known: ReadonlyMap<string, Pod> = new Map();
  readonly #ids = new Set<EndpointId>();
  /** The last trouble told, so that it is told once and not with every try. */
  #told = '';

  constructor(options: KubernetesOptions) {
    this.#options = options;
    const { config, pool } = options;
    this.#pools = this.#informer(poolSource(config, pool), (pools) => {
      this.#follow(pools.get(`${pool.namespace}/${pool.name}`));
    });
  }

  get synced(): boolean {
    return this.#pools.synced && (this.#pods?.synced ?? true);
  }

  get ageMs(): Millis | undefined {
    const ages = [this.#pools.ageMs, this.#pods === undefined ? 0 : this.#pods.ageMs];
    return ages.reduce((a, b) => (a === undefined || b === undefined ? undefined : Math.max(a, b)));
  }

  stop(): void {
    this.#pools.stop();
    this.#pods?.stop();
  }

  #follow(pool: InferencePool | undefined): void {
    const { log, pool: name } = this.#options;
    if (pool === undefined && this.#pool !== undefined)
      log.warn({ pool: name }, 'the pool is gone');
    if (pool !== undefined && this.#pool === undefined)
      log.info({ pool: name }, 'the pool is there');
    this.#pool = pool;
    const selector = pool && selectorOf(pool);
    if (pool !== undefined && selector === undefined) {
      this.#trouble('the pool selects no pods: give spec.selector.matchLabels a label');
    }
    if (selector !== this.#selector) this.#select(selector);
    this.#reconcile();
  }

  #select(selector: string | undefined): void {
    const { config, pool } = this.#options;
    this.#pods?.stop();
    this.#selector = selector;
    if (selector === undefined) {
      this.#pods = undefined;
      this.#known = new Map();
      return;
    }
    // Those of the old selector stay until the new list is there: a change of labels is no reason to serve nobody.
    const source = podSource(config, { namespace: pool.namespace, labelSelector: selector });
    this.#pods = this.#informer(source, (pods) => {
      this.#known = pods;
      this.#reconcile();
    });
  }

  #informer<T extends InferencePool | Pod>(
    source: ConstructorParameters<typeof Informer<T>>[0]['source'],
    onChange: (objects: ReadonlyMap<string, T>) => void,
  ): Informer<T> {
    const { clock, random } = this.#options;
    const onTrouble = (sentence: string): void => this.#trouble(sentence);
    return new Informer<T>({ source, clock, random, observer: { onChange, onTrouble } });
  }

  #reconcile(): void {
    const { endpoints } = this.#options;
    const wanted = endpointsOf(this.#pool, this.#known.values());
    const ids = new Set(wanted.map(({ id }) => id));
    for (const id of this.#ids) {
      if (ids.has(id)) continue;
      this.#ids.delete(id);
      endpoints.remove(id);
    }
    for (const spec of wanted) {
      this.#ids.add(spec.id);
      endpoints.upsert(spec);
    }
  }

  #trouble(sentence: string): void {
    if (sentence === this.#told) return;
    this.#told = sentence;
    this.#options.log.warn({ pool: this.#options.pool, reason: sentence }, 'Kubernetes');
  }
}
