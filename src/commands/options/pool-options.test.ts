import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { type PoolFlags, poolFrom } from './pool-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-pool-'));
const kubeconfig = join(folder, 'kubeconfig');
writeFileSync(
  kubeconfig,
  JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://api:6443' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }),
);
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => void vi.unstubAllEnvs());

const flags = (given: Partial<PoolFlags>): PoolFlags => ({
  poolGroup: 'g',
  endpointTargetPorts: [],
  haEnableLeaderElection: false,
  ...given,
});

test.each([
  [{ kubeconfig }, true, 'default', 'default'],
  [{ kubeconfig, poolName: 'p' }, true, 'default', 'p'],
  [{ kubeconfig, poolName: 'p', poolNamespace: 'ns' }, false, 'ns', 'p'],
])('%j asks for a pool', async (given, isListed, namespace, name) => {
  vi.stubEnv('NAMESPACE', '');
  const { kubernetes, poolName } = await poolFrom(flags(given), { isListed });
  expect(kubernetes?.pool).toEqual({ namespace, name, group: 'g', version: 'v1' });
  expect(poolName).toBe(name);
});

test('a pool’s name alone asks for it where nothing else lists endpoints', async () => {
  vi.stubEnv('NAMESPACE', 'mine');
  vi.stubEnv('KUBECONFIG', kubeconfig);
  const { kubernetes } = await poolFrom(flags({ poolName: 'p' }), { isListed: false });
  expect(kubernetes?.pool).toMatchObject({ namespace: 'mine', name: 'p' });
  const listed = await poolFrom(flags({ poolName: 'p' }), { isListed: true });
  expect([listed.kubernetes, listed.poolName]).toEqual([undefined, 'p']);
  expect((await poolFrom(flags({}), { isListed: false })).kubernetes).toBeUndefined();
});

test('[D90] a selector gives the pods and ports of the pool', async () => {
  const selecting = flags({ kubeconfig, endpointSelector: 'a=b', endpointTargetPorts: [1, 2] });
  const { kubernetes } = await poolFrom(selecting, { isListed: false });
  expect(kubernetes?.spec).toEqual({ selector: 'a=b', ports: [1, 2] });
});

test.each([
  [{ endpointSelector: 'a=b' }, '--endpoint-target-ports: is missing: give 1 to 8'],
  [
    { endpointSelector: 'a=b', endpointTargetPorts: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
    '--endpoint-target-ports: names 9 ports',
  ],
  [{ endpointTargetPorts: [1] }, '--endpoint-target-ports: needs --endpoint-selector'],
  [{ endpointSelector: 'a b' }, '--endpoint-selector: has "a b"'],
  [{ haEnableLeaderElection: true }, '--ha-enable-leader-election: needs --pool-namespace'],
])('%j is refused', async (given, sentence) => {
  await expect(poolFrom(flags(given), { isListed: true })).rejects.toThrow(sentence);
});
