import type { KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  configFor,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import type { KubernetesDiscovery } from '../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import type { Random } from '../../src/framework/runtime.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { followPool } from '../support/kubernetes/follow-pool.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/servers/cuttable-proxy.ts';

/** The property test on a real API server: its connections are cut, and it is killed once. */

const binaries = kubernetesOrSkip();
const EVENTS = 10_000;
const SEED = 20_261_121;
const WRITERS = 8;
/** Each writer has its own, so that it knows what there is. */
const PODS_EACH = 24;
const CUT_EVERY = 250;
const LWS = 'leaderworkerset.sigs.k8s.io';

type PodState = 'absent' | 'ready' | 'not ready' | 'deleting';

describe.skipIf(binaries === undefined)('10,000 events on a real API server', () => {
  let server: ApiServer;
  let proxy: CuttableProxy;
  let hand: ClusterHand;

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    hand = new ClusterHand(server.config);
    await installInferencePools(server);
    const url = new URL(server.config.getCurrentCluster()?.server ?? '');
    proxy = await startCuttableProxy(Number(url.port));
  });
  afterAll(async () => {
    await proxy?.stop();
    await server?.stop();
  });

  it(`end in exactly the state of a fresh list, seed ${SEED}`, async () => {
    await hand.createPool({
      selector: { matchLabels: { app: 'vllm' } },
      targetPorts: [{ number: 8000 }, { number: 8001 }],
    });
    const long = follow(configFor(`https://127.0.0.1:${proxy.port}`));
    let [done, cutOff, cameToo] = [0, 0, 0];
    long.endpoints.observeEndpoints({
      onEndpointAdded: ({ labels }) => {
        if (labels.has(`${LWS}/name`)) cameToo += 1;
      },
    });
    const write = async (writer: number, until: number): Promise<void> => {
      const random = seededRandom(SEED).fork(`${writer} ${until}`);
      const states = known[writer] ?? [];
      while (done < until) {
        done += 1;
        if (done % CUT_EVERY === 0) cutOff += proxy.cut();
        const at = Math.floor(random.next() * PODS_EACH);
        states[at] = await change(writer * PODS_EACH + at, states[at] ?? 'absent', random);
      }
    };
    const known = Array.from({ length: WRITERS }, (): PodState[] => []);
    const writers = [...known.keys()];
    await Promise.all(writers.map((writer) => write(writer, EVENTS / 2)));
    await server.kill();
    await server.restart();
    await Promise.all(writers.map((writer) => write(writer, EVENTS)));
    const fresh = follow(server.config);
    await eventually(
      () => fresh.discovery.synced && fresh.state().length > 0,
      (there) => there,
    );
    await eventually(
      () => `${JSON.stringify(long.state())} ${JSON.stringify(fresh.state())}`,
      () => JSON.stringify(long.state()) === JSON.stringify(fresh.state()),
    );
    expect(long.state()).toEqual(fresh.state());
    // Otherwise nothing was tried.
    expect(cutOff).toBeGreaterThan(EVENTS / CUT_EVERY / 2);
    expect(cameToo).toBeGreaterThan(10);
    long.discovery.stop();
    fresh.discovery.stop();
  });

  async function change(at: number, state: PodState, random: Random): Promise<PodState> {
    const name = `pod-${at}`;
    const draw = random.next();
    if (state === 'absent') {
      const spec = { labels: labelsOf(at), annotations: annotationsOf(at), ip: `10.0.0.${at + 1}` };
      await hand.createReadyPod(name, { ...spec, node: 'node' });
      return 'ready';
    }
    if (state === 'deleting' || draw < 0.1) {
      await hand.deletePod(name);
      return 'absent';
    }
    if (draw < 0.2) {
      await hand.deletePod(name, 30);
      return 'deleting';
    }
    const ready = state === 'not ready';
    await hand.setReady(name, ready);
    return ready ? 'ready' : 'not ready';
  }
});

/** Two of four pods are single, and two are a group. */
function labelsOf(at: number): Readonly<Record<string, string>> {
  if (at % 4 < 2) return { app: 'vllm' };
  return {
    app: 'vllm',
    [`${LWS}/name`]: 'lws',
    [`${LWS}/group-index`]: String(Math.floor(at / 4)),
    [`${LWS}/worker-index`]: String(at % 2),
  };
}

function annotationsOf(at: number): Readonly<Record<string, string>> {
  return at % 4 < 2 ? {} : { [`${LWS}/size`]: '2' };
}

interface Following {
  readonly endpoints: EndpointPool;
  readonly discovery: KubernetesDiscovery;
  state(): readonly string[];
}

function follow(config: KubeConfig): Following {
  const endpoints = new EndpointPool();
  const discovery = followPool(config, { endpoints });
  const state = (): readonly string[] =>
    endpoints
      .snapshot()
      .map(({ id, address }) => `${id} ${address}`)
      .sort();
  return { endpoints, discovery, state };
}
