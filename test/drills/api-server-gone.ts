import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installInferencePools } from '../../bench/support/inference-pools.ts';
import { startApiServer } from '../../bench/support/kubernetes.ts';
import { buildKubernetes } from '../../bench/support/kubernetes-binaries.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import {
  drill,
  PER_SECOND,
  sleep,
  startGateway,
  startLoad,
  startPicker,
  startServers,
} from './support.ts';

const GONE_MS = 60_000;
const APP = { app: 'vllm' };

await drill('the Kubernetes API server is gone for a minute', async ({ row, noneFailed }) => {
  const binaries = await buildKubernetes((line) => void process.stderr.write(`${line}\n`));
  if ('unavailable' in binaries) throw new Error(binaries.unavailable);
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-drill-'));
  const api = await startApiServer(binaries);
  const servers = await startServers(1);
  const [ip = '', port] = (servers.endpoints[0]?.address ?? '').split(':');
  await installInferencePools(api);
  const hand = new ClusterHand(api.config);
  const selector = { matchLabels: APP };
  await hand.createPool({ selector, targetPorts: [{ number: Number(port) }] });
  await hand.createReadyPod('a', { labels: APP, ip });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, api.config.exportConfig());
  const pool = ['--pool-name', 'pool', '--pool-namespace', NAMESPACE];
  const picker = await startPicker(['--kubeconfig', kubeconfig, ...pool]);
  const endpoints = async (): Promise<number> =>
    (JSON.parse(await picker.get('/debug/endpoints')) as { endpoints: unknown[] }).endpoints.length;
  await eventually(endpoints, (count) => count === 1);
  const gateway = await startGateway({ pickers: [picker.extProcPort] });
  const load = startLoad({ url: gateway.url, perSecond: PER_SECOND });
  await sleep(3000);
  await api.kill();
  await sleep(GONE_MS);
  await api.restart();
  await sleep(3000);
  await load.stop();
  noneFailed(load.sent);
  const from = performance.now();
  await hand.createReadyPod('b', { labels: APP, ip: '127.0.0.9' });
  const seen = await eventually(endpoints, (count) => count === 2).catch(() => 1);
  const tookMs = performance.now() - from;
  row('a new pod is known', `${seen} pods, ${tookMs.toFixed(0)} ms`, 'within 60 s', seen === 2);
  picker.process.kill('SIGKILL');
  await gateway.stop();
  await servers.stop();
  await api.stop();
  rmSync(folder, { recursive: true, force: true });
});
