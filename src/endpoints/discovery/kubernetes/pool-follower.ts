import type { Clock, Millis, Random } from '../../../framework/runtime.ts';
import type { Log } from '../../../runtime/log.ts';
import type { EndpointSink } from './held-endpoints.ts';
import { Informer, type KubeObject, type ResourceSource } from './informer.ts';
import type { Node } from './node.ts';
import type { Pod } from './pod.ts';
import { type InferencePool, readPool } from './pool-spec.ts';
import { type GroupCounts, Replicas } from './replicas.ts';

/** Where the objects come from. */
export interface PoolSources {
  readonly pool: ResourceSource<InferencePool>;
  /** Pods of the pool's namespace by their labels. */
  pods(labelSelector: string): ResourceSource<Pod>;
  /** Pods of that namespace that follow a leader. */
  workers(): ResourceSource<Pod>;
  /** Undefined where nothing of nodes is wanted. */
  readonly nodes: ResourceSource<Node> | undefined;
}

export interface PoolFollowerOptions {
  readonly sources: PoolSources;
  readonly poolName: { readonly namespace: string; readonly name: string };
  readonly endpoints: EndpointSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** The kinds of object that are followed, each with its own troubles. */
type Kind = 'pool' | 'pods' | 'workers' | 'nodes';

/**
 * Keeps the endpoint pool as an InferencePool, its pods, the groups these lead and their nodes are. While the API server is
 * away the last state serves; so does the last pool that could be read, while it is one that cannot.
 */
export class PoolFollower {
  readonly #options: PoolFollowerOptions;
  readonly #replicas: Replicas;
  readonly #pools: Informer<InferencePool>;
  readonly #nodes: Informer<Node> | undefined;
  #pods: Informer<Pod> | undefined;
  #workers: Informer<Pod> | undefined;
  #selector: string | undefined;
  #isThere = false;
  /** What is wrong at the moment, so that it is told once and not with every try. */
  readonly #troubles = new Map<Kind | 'spec', string>();

  constructor(options: PoolFollowerOptions) {
    this.#options = options;
    this.#replicas = new Replicas(options.endpoints);
    const { sources, poolName } = options;
    const { nodes } = sources;
    this.#nodes =
      nodes &&
      this.#informer('nodes', nodes, (all, changed) => this.#replicas.takeNodes(all, changed));
    this.#pools = this.#informer('pool', sources.pool, (pools) => {
      this.#follow(pools.get(`${poolName.namespace}/${poolName.name}`));
    });
  }

  /** Whether all has been listed that endpoints depend on; an absent pool counts, with no endpoints. */
  get synced(): boolean {
    return this.#needed.every(({ synced }) => synced);
  }

  /** How old the oldest of the states is, while the API server is away; undefined before it was reached. */
  get ageMs(): Millis | undefined {
    const ages = this.#needed.map(({ ageMs }) => ageMs);
    return ages.reduce((a, b) => (a === undefined || b === undefined ? undefined : Math.max(a, b)));
  }

  /** What is wrong at the moment, a sentence each that says what to do. */
  get troubles(): readonly string[] {
    return [...this.#troubles.values()];
  }

  /** Groups of pods that are endpoints, and those that are not whole. */
  get groups(): GroupCounts {
    return this.#replicas.groups;
  }

  stop(): void {
    for (const each of [this.#pools, this.#pods, this.#workers, this.#nodes]) each?.stop();
  }

  get #needed(): readonly Informer<KubeObject>[] {
    const all = [this.#pools, this.#pods, this.#workers];
    return all.filter((each) => each !== undefined) as readonly Informer<KubeObject>[];
  }

  #follow(pool: InferencePool | undefined): void {
    const { log, poolName } = this.#options;
    if ((pool !== undefined) !== this.#isThere) {
      this.#isThere = pool !== undefined;
      if (this.#isThere) log.info({ pool: poolName }, 'the pool is there');
      else log.warn({ pool: poolName }, 'the pool is gone');
    }
    const read = pool && readPool(pool);
    if (read !== undefined && 'fault' in read) {
      this.#trouble('spec', read.fault);
      return;
    }
    this.#troubles.delete('spec');
    if (read?.selector !== this.#selector) this.#select(read?.selector);
    this.#replicas.setPorts(read?.ports ?? []);
  }

  #select(selector: string | undefined): void {
    this.#pods?.stop();
    this.#troubles.delete('pods');
    this.#selector = selector;
    this.#pods = undefined;
    if (selector === undefined) {
      this.#replicas.takePods(new Map());
      return;
    }
    // Those of the old selector stay until the new list is there: a change of labels is no reason to serve nobody.
    const source = this.#options.sources.pods(selector);
    this.#pods = this.#informer('pods', source, (pods, changed) => {
      this.#replicas.takePods(pods, changed);
      if (this.#workers !== undefined) return;
      const { whole, partial } = this.#replicas.groups;
      if (whole + partial > 0) this.#workers = this.#followWorkers();
    });
  }

  /** Pools often select leaders alone; whether a group is whole is seen by its workers. */
  #followWorkers(): Informer<Pod> {
    return this.#informer('workers', this.#options.sources.workers(), (workers, changed) => {
      this.#replicas.takeWorkers(workers, changed);
    });
  }

  #informer<T extends KubeObject>(
    kind: Kind,
    source: ResourceSource<T>,
    onChange: (objects: ReadonlyMap<string, T>, changed: string | undefined) => void,
  ): Informer<T> {
    const { clock, random } = this.#options;
    return new Informer<T>({
      source,
      clock,
      random: random.fork(kind),
      observer: {
        onChange,
        onTrouble: (sentence) => this.#trouble(kind, sentence),
        onRecovered: () => this.#recovered(kind),
      },
    });
  }

  #trouble(kind: Kind | 'spec', sentence: string): void {
    const told = this.troubles.includes(sentence);
    this.#troubles.set(kind, sentence);
    if (told) return;
    this.#options.log.warn({ pool: this.#options.poolName, reason: sentence }, 'Kubernetes');
  }

  #recovered(kind: Kind): void {
    if (!this.#troubles.delete(kind) || this.#troubles.size > 0) return;
    this.#options.log.info({ pool: this.#options.poolName }, 'Kubernetes is as it should be again');
  }
}
