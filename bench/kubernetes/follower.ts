import { performance } from 'node:perf_hooks';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { createLog } from '../../src/runtime/log/log.ts';

/** A process that only follows a pool, so that its memory and CPU are the cost of following. */

export interface FollowOrder {
  /** A kubeconfig as text. */
  readonly kubeconfig: string;
  readonly pool: { readonly namespace: string; readonly name: string; readonly group: string };
  readonly endpoints: number;
}

export type FollowerNews =
  | { readonly kind: 'synced'; readonly syncMs: number; readonly rssBytesBefore: number }
  | { readonly kind: 'added' | 'removed'; readonly id: string; readonly at: number }
  | {
      readonly kind: 'usage';
      readonly cpuMicros: number;
      readonly at: number;
      readonly rssBytes: number;
      readonly heapBytes: number;
    };

/** Milliseconds since the epoch with fractions, comparable between processes of one machine. */
export const epochMs = (): number => performance.timeOrigin + performance.now();

async function follow({ kubeconfig, pool, endpoints: wanted }: FollowOrder): Promise<void> {
  const tell = (news: FollowerNews): void => void process.send?.(news);
  const [
    { KubeConfig },
    { kubeconfigAccess },
    { startKubernetes },
    { nodeClock },
    { seededRandom },
  ] = await Promise.all([
    import('@kubernetes/client-node'),
    import('../../src/commands/api-access/kubeconfig-access.ts'),
    import('../../src/endpoints/discovery/kubernetes/start-kubernetes.ts'),
    import('../../src/runtime/clock/node-clock.ts'),
    import('../../src/runtime/seeded-random.ts'),
  ]);
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const endpoints = new EndpointPool();
  const startedAt = performance.now();
  const rssBytesBefore = process.memoryUsage.rss();
  let synced = false;
  endpoints.observeEndpoints({
    onEndpointAdded: ({ id }) => {
      if (synced) tell({ kind: 'added', id, at: epochMs() });
      // The snapshot already has the endpoint that is being added.
      else if (endpoints.snapshot().length >= wanted) {
        synced = true;
        tell({ kind: 'synced', syncMs: performance.now() - startedAt, rssBytesBefore });
      }
    },
    onEndpointRemoved: ({ id }) => tell({ kind: 'removed', id, at: epochMs() }),
  });
  startKubernetes({
    access: kubeconfigAccess(config),
    pool: { ...pool, version: 'v1' },
    endpoints,
    clock: nodeClock(),
    random: seededRandom(1),
    log: createLog('warn'),
  });
  process.on('message', (message) => {
    if (message !== 'usage') return;
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage();
    tell({ kind: 'usage', cpuMicros: user + system, at: epochMs(), rssBytes, heapBytes });
  });
}

if (import.meta.main) {
  process.once('message', (order) => void follow(order as FollowOrder));
  process.once('disconnect', () => process.exit(0));
}
