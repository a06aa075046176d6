import type { Clock, Millis, Random } from '../../../../framework/runtime.ts';
import type { EndpointSink } from '../../../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../../../runtime/log/log.ts';
import { Informer, type ResourceSource } from '../watch/informer.ts';
import type { KubeObject, Node, Pod } from '../watch/kube-objects.ts';
import { Spaced } from '../watch/spaced.ts';
import { Troubles } from '../watch/troubles.ts';
import { type InferencePool, type InferencePoolSpec, readInferencePool } from './inference-pool.ts';
import type { PoolLabels } from './pool-labels.ts';
import { type GroupCounts, Replicas } from './replicas.ts';
import { whyEmpty } from './why-empty.ts';

export interface PoolSources {
  /** The InferencePool; where there is none, its pods and ports themselves. */
  readonly pool: ResourceSource<InferencePool> | InferencePoolSpec;
  pods(labelSelector: string): ResourceSource<Pod>;
  /** The pods of that namespace that follow a leader. */
  workers(): ResourceSource<Pod>;
  /** Undefined where endpoints take no labels from nodes. */
  readonly nodes: ResourceSource<Node> | undefined;
}

interface PoolFollowerOptions {
  readonly sources: PoolSources;
  readonly poolName: { readonly namespace: string; readonly name: string };
  readonly endpoints: EndpointSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called with what the pool speaks, when that changes. */
  readonly onAppProtocol?: ((appProtocol: string | undefined) => void) | undefined;
  /** Called with the labels of the pool, whenever it is read. */
  readonly onLabels?: ((labels: PoolLabels) => void) | undefined;
  /**
   * Called when the pool exists and all that its endpoints depend on is listed; and when it is
   * deleted.
   */
  readonly onKnown?: ((known: boolean) => void) | undefined;
}

/** Labels and annotations included, usually two kilobytes. */
const POD_BYTES_MAX = 16 * 1024;

/** Each refused request may ask why there is no endpoint; a pool can have thousands of pods. */
const REASON_KEPT_MS: Millis = 1000;

type Kind = 'pool' | 'pods' | 'workers' | 'nodes';

/**
 * Keeps the endpoint pool equal to an InferencePool's pods, groups and nodes. While the API server
 * is away or the pool's spec invalid, the last valid state stays.
 */
export class PoolFollower {
  readonly #options: PoolFollowerOptions;
  readonly #replicas: Replicas;
  readonly #pools: Informer<InferencePool> | undefined;
  readonly #nodes: Informer<Node> | undefined;
  #pods: Informer<Pod> | undefined;
  #workers: Informer<Pod> | undefined;
  #selector: string | undefined;
  #exists = false;
  #known = false;
  #appProtocol: string | undefined;
  readonly #troubles: Troubles;
  readonly #edits: Spaced;
  #reason: { readonly at: Millis; readonly text: string | undefined } | undefined;

  constructor(options: PoolFollowerOptions) {
    this.#options = options;
    this.#edits = new Spaced(options.clock);
    this.#troubles = new Troubles(options.clock, (reason) =>
      options.log.warn({ pool: options.poolName, reason }, 'Kubernetes'),
    );
    this.#replicas = new Replicas(options.endpoints);
    const { sources, poolName } = options;
    const { nodes } = sources;
    this.#nodes =
      nodes &&
      this.#informer('nodes', nodes, (all, changed) => this.#replicas.updateNodes(all, changed));
    if ('selector' in sources.pool) {
      this.#exists = true;
      this.#take(sources.pool);
      return;
    }
    this.#pools = this.#informer('pool', sources.pool, (pools) => {
      const pool = pools.get(`${poolName.namespace}/${poolName.name}`);
      this.#edits.run(() => {
        this.#follow(pool);
        this.#noteKnown();
      });
    });
  }

  /** Whether everything that endpoints depend on is listed. An absent pool has no endpoints. */
  get synced(): boolean {
    return this.#needed.every(({ synced }) => synced);
  }

  /** Age of the oldest state while the API server is away, else 0. Undefined before contact. */
  get ageMs(): Millis | undefined {
    const ages = this.#needed.map(({ ageMs }) => ageMs);
    return ages.reduce((a, b) => (a === undefined || b === undefined ? undefined : Math.max(a, b)));
  }

  get troubles(): readonly string[] {
    return this.#troubles.all;
  }

  get groups(): GroupCounts {
    return this.#replicas.groups;
  }

  /** Whether a pod that the pool selects has this `host:port`, also one that is not ready. */
  hasPodAt(server: string): boolean {
    return this.#replicas.hasPodAt(server);
  }

  /** Why the pool has no endpoint, where it has none and that is known; as of the last second. */
  get whyEmpty(): string | undefined {
    const at = this.#options.clock.now();
    const kept = this.#reason;
    if (kept !== undefined && at - kept.at < REASON_KEPT_MS) return kept.text;
    this.#reason = { at, text: this.#whyEmpty() };
    return this.#reason.text;
  }

  /** Shows a trouble of another part, or no longer. */
  note(source: string, sentence: string | undefined): void {
    if (sentence !== undefined) this.#troubles.set(source, [sentence]);
    else this.#recovered(source);
  }

  stop(): void {
    this.#edits.stop();
    for (const each of [this.#pools, this.#pods, this.#workers, this.#nodes]) each?.stop();
  }

  #whyEmpty(): string | undefined {
    const { poolName } = this.#options;
    if (!this.synced) return 'the API server has not listed the pool and its pods yet';
    if (!this.#exists) return absent(poolName);
    // An invalid spec is a trouble of its own.
    if (this.#selector === undefined) return undefined;
    const { pods, ports } = this.#replicas;
    return whyEmpty({ pods, ports, selector: this.#selector, namespace: poolName.namespace });
  }

  get #needed(): readonly Informer<KubeObject>[] {
    const all = [this.#pools, this.#pods, this.#workers];
    return all.filter((each) => each !== undefined) as readonly Informer<KubeObject>[];
  }

  #follow(pool: InferencePool | undefined): void {
    const { log, poolName } = this.#options;
    const existed = this.#exists;
    this.#exists = pool !== undefined;
    if (this.#exists && !existed) log.info({ pool: poolName }, 'the pool exists');
    this.note('existence', this.#exists ? undefined : absent(poolName));
    this.#options.onLabels?.(pool?.metadata?.labels ?? {});
    const read = pool && readInferencePool(pool);
    if (read !== undefined && 'fault' in read) {
      this.#troubles.set('spec', [read.fault]);
      return;
    }
    this.#troubles.clear('spec');
    this.#take(read);
  }

  #take(read: InferencePoolSpec | undefined): void {
    if (read?.selector !== this.#selector) this.#select(read?.selector);
    this.#replicas.setPorts(read?.ports ?? []);
    if (read?.appProtocol === this.#appProtocol) return;
    this.#appProtocol = read?.appProtocol;
    this.#options.onAppProtocol?.(this.#appProtocol);
  }

  #select(selector: string | undefined): void {
    this.#pods?.stop();
    for (const source of ['pods', roomFor('pods')]) this.#troubles.clear(source);
    this.#selector = selector;
    this.#pods = undefined;
    if (selector === undefined) {
      this.#replicas.updatePods(new Map());
      return;
    }
    // Until the new list arrives the old endpoints stay, so that requests are still served.
    const source = this.#options.sources.pods(selector);
    this.#pods = this.#informer('pods', source, (pods, changed) => {
      this.#replicas.updatePods(pods, changed);
      const { whole, partial } = this.#replicas.groups;
      if (whole + partial > 0) this.#workers ??= this.#followWorkers();
      this.#noteKnown();
    });
  }

  /**
   * A pool that was known stays so while a new selector's pods are listed: its endpoints stay, too.
   */
  #noteKnown(): void {
    const isListed = this.#selector !== undefined && this.synced;
    const known = this.#exists && (this.#known || isListed);
    if (known === this.#known) return;
    this.#known = known;
    this.#options.onKnown?.(known);
  }

  /** Pools often select only leaders; the workers show whether a group is whole. */
  #followWorkers(): Informer<Pod> {
    return this.#informer('workers', this.#options.sources.workers(), (workers, changed) => {
      this.#replicas.updateWorkers(workers, changed);
      this.#noteKnown();
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
        onTrouble: (sentence) => this.#troubles.set(kind, [sentence]),
        onRecovered: () => this.#recovered(kind),
        onLeftOut: (some) => this.note(roomFor(kind), some ? leftOut(kind) : undefined),
      },
      objectBytesMax: kind === 'pool' ? undefined : POD_BYTES_MAX,
    });
  }

  #recovered(source: string): void {
    if (!this.#troubles.clear(source)) return;
    this.#options.log.info({ pool: this.#options.poolName }, 'Kubernetes works again');
  }
}

function absent({ namespace, name }: PoolFollowerOptions['poolName']): string {
  return `there is no InferencePool ${name} in namespace ${namespace}: create it, or correct --pool-name, --pool-namespace or --pool-group`;
}

/** The source of troubles with objects that are left out. */
function roomFor(kind: Kind): string {
  return `room for ${kind}`;
}

function leftOut(kind: Kind): string {
  return `some ${kind} are left out, because they are too large or too many: give them fewer labels, or the pool a narrower selector`;
}
