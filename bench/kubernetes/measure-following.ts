import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { sorted } from '../../src/lab/run-summary/statistics.ts';
import { INFERENCE_GROUP, installInferencePools } from '../support/inference-pools.ts';
import { type ApiServer, startApiServer } from '../support/kubernetes.ts';
import type { KubernetesBinaries } from '../support/kubernetes-binaries.ts';
import { ClusterHand, NAMESPACE } from '../support/kubernetes-objects.ts';
import { epochMs, type FollowerNews, type FollowOrder } from './follower.ts';

export interface FollowingOptions {
  readonly pods: number;
  /** Number of events of each kind. */
  readonly events: number;
  /** Number of pods that change at the same time. */
  readonly writers: number;
  readonly idleSeconds: number;
  readonly log: (line: string) => void;
}

/** Sorted milliseconds. */
export type Delays = Float64Array;

export interface FollowingCost {
  /**
   * Time from the start of the follower, after loading its library, to an endpoint for each pod.
   */
  readonly syncMs: number;
  /** By kind: time from sending the write to the removal of the endpoint. */
  readonly fromSent: ReadonlyMap<string, Delays>;
  /** By kind: time from the API server's answer; 0 where the endpoint was removed before it. */
  readonly fromAnswered: ReadonlyMap<string, Delays>;
  readonly rssMiBBefore: number;
  readonly rssMiBAfter: number;
  readonly heapMiBAfter: number;
  /** CPU over wall time: 1 is one core. */
  readonly coresIdle: number;
  readonly coresBusy: number;
  /** Writes per second while busy; each event has two. */
  readonly writesPerSecond: number;
}

const CREATORS = 16;
const LOST_MS = 30_000;

export async function measureFollowing(
  binaries: KubernetesBinaries,
  options: FollowingOptions,
): Promise<FollowingCost> {
  const server = await startApiServer(binaries);
  try {
    await fill(server, options);
    return await followed(server, options);
  } finally {
    await server.stop();
  }
}

async function fill(server: ApiServer, { pods, log }: FollowingOptions): Promise<void> {
  const hand = new ClusterHand(server.config);
  await installInferencePools(server);
  const selector = { matchLabels: { app: 'vllm' } };
  await hand.createPool({ selector, targetPorts: [{ number: 8000 }] });
  log(`creating ${pods} pods`);
  await inParallel(CREATORS, pods, (at) => createReady(hand, at));
}

function createReady(hand: ClusterHand, at: number): Promise<void> {
  const ip = `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;
  return hand.createReadyPod(podName(at), { labels: { app: 'vllm' }, ip, node: 'node' });
}

async function followed(server: ApiServer, options: FollowingOptions): Promise<FollowingCost> {
  const { pods, events, writers, idleSeconds, log } = options;
  const follower = new Follower();
  try {
    const pool = { namespace: NAMESPACE, name: 'pool', group: INFERENCE_GROUP };
    const kubeconfig = server.config.exportConfig();
    const { syncMs, rssBytesBefore } = await follower.begin({ kubeconfig, pool, endpoints: pods });
    log(`synced in ${syncMs.toFixed(0)} ms; idle for ${idleSeconds} s`);
    const first = await follower.usage();
    await sleep(idleSeconds * 1000);
    const idle = await follower.usage();
    const fromSent = new Map<string, Delays>();
    const fromAnswered = new Map<string, Delays>();
    const hand = new ClusterHand(server.config);
    let writes = 0;
    for (const [kind, write, undo] of changesOf(hand)) {
      log(`${events} pods: ${kind}`);
      const timed = await inParallel(writers, events, async (at) => {
        const podAt = at % pods;
        const gone = follower.timeOf('removed', podAt);
        const sentAt = epochMs();
        await write(podAt);
        const answeredAt = epochMs();
        const leftAt = await gone;
        const back = follower.timeOf('added', podAt);
        await undo(podAt);
        await back;
        writes += 2;
        return [leftAt - sentAt, Math.max(0, leftAt - answeredAt)] as const;
      });
      fromSent.set(kind, sorted(timed.map(([sent]) => sent)));
      fromAnswered.set(kind, sorted(timed.map(([, answered]) => answered)));
    }
    const busy = await follower.usage();
    return {
      syncMs,
      fromSent,
      fromAnswered,
      rssMiBBefore: rssBytesBefore / 2 ** 20,
      rssMiBAfter: busy.rssBytes / 2 ** 20,
      heapMiBAfter: busy.heapBytes / 2 ** 20,
      coresIdle: coresBetween(first, idle),
      coresBusy: coresBetween(idle, busy),
      writesPerSecond: writes / ((busy.at - idle.at) / 1000),
    };
  } finally {
    follower.stop();
  }
}

type PodChange = (at: number) => Promise<void>;

/** Changes that remove an endpoint from the pool, each with the change that brings it back. */
function changesOf(
  hand: ClusterHand,
): readonly (readonly [kind: string, write: PodChange, undo: PodChange])[] {
  const back = (at: number): Promise<void> => hand.setReady(podName(at), true);
  return [
    ['not ready', (at) => hand.setReady(podName(at), false), back],
    ['to be evicted', (at) => hand.disrupt(podName(at)), back],
    [
      'deletion begins',
      (at) => hand.deletePod(podName(at), 30),
      async (at) => {
        await hand.deletePod(podName(at));
        await createReady(hand, at);
      },
    ],
  ];
}

type Usage = Extract<FollowerNews, { readonly kind: 'usage' }>;
type Synced = Extract<FollowerNews, { readonly kind: 'synced' }>;

/** The process that follows the pool. */
class Follower {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<string, (news: FollowerNews) => void>();

  constructor() {
    const file = new URL('./follower.ts', import.meta.url);
    this.#child = fork(file, [], { execArgv: ['--expose-gc'] });
    this.#child.on('message', (message) => {
      const news = message as FollowerNews;
      const key = 'id' in news ? `${news.kind} ${news.id}` : news.kind;
      this.#waiting.get(key)?.(news);
      this.#waiting.delete(key);
    });
  }

  begin(order: FollowOrder): Promise<Synced> {
    const synced = this.#next('synced');
    this.#child.send(order);
    return synced as Promise<Synced>;
  }

  usage(): Promise<Usage> {
    const usage = this.#next('usage');
    this.#child.send('usage');
    return usage as Promise<Usage>;
  }

  /** Waits until a pod's endpoint is added or removed, and returns the time in `epochMs`. */
  async timeOf(kind: 'added' | 'removed', at: number): Promise<number> {
    const news = await this.#next(`${kind} ${NAMESPACE}/${podName(at)}`);
    return 'at' in news ? news.at : Number.NaN;
  }

  stop(): void {
    this.#child.kill();
  }

  #next(key: string): Promise<FollowerNews> {
    return new Promise((resolve, reject) => {
      const lost = setTimeout(
        () => reject(new Error(`the follower did not report "${key}" in ${LOST_MS} ms`)),
        LOST_MS,
      );
      this.#waiting.set(key, (news) => {
        clearTimeout(lost);
        resolve(news);
      });
    });
  }
}

function podName(at: number): string {
  return `pod-${at}`;
}

/** Does the work of 0 to `count - 1` with `workers` at once. */
async function inParallel<T>(
  workers: number,
  count: number,
  work: (at: number) => Promise<T>,
): Promise<readonly T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) results.push(await work(next++));
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}

function coresBetween(from: Usage, to: Usage): number {
  return (to.cpuMicros - from.cpuMicros) / 1000 / (to.at - from.at);
}
