import { PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubernetesOrSkip } from '../../bench/support/kubernetes.ts';
import { NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import { BoundsBed, FORMER, portsOf } from '../support/kubernetes/bounds-bed.ts';

/** Pools and pods at the bounds of what their definitions allow, on a real kube-apiserver. */

const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
const binaries = kubernetesOrSkip();

describe.skipIf(binaries === undefined)('at the bounds of their definitions', () => {
  let bed: BoundsBed;
  beforeAll(async () => {
    if (binaries !== undefined) bed = await BoundsBed.start(binaries);
  });
  afterAll(async () => {
    await bed?.stop();
  });

  const patchPod = (name: string, body: object): Promise<unknown> =>
    bed.core.patchNamespacedPod({ name, namespace: NAMESPACE, body }, merge);
  const patchStatus = (name: string, status: object): Promise<unknown> =>
    bed.core.patchNamespacedPodStatus({ name, namespace: NAMESPACE, body: { status } }, merge);

  test('a pool of eight ports has eight endpoints a pod, and what else changes in it moves none', async () => {
    const eight = [8000, 8001, 8002, 8003, 8004, 8005, 8006, 8007];
    await bed.hand.createReadyPod('ranks', { labels: { app: 'ranks' }, ip: '127.0.3.1' });
    const selector = { matchLabels: { app: 'ranks' } };
    await bed.hand.createPool({ selector, targetPorts: portsOf(...eight) }, 'ranks');
    const { settled, protocols, left, endpoints } = bed.follow('ranks');
    await settled(eight.map((port) => `127.0.3.1:${port}`).join(' '));
    for (const appProtocol of ['http', 'kubernetes.io/h2c', null]) {
      const endpointPickerRef = { name: `epp-${appProtocol}`, port: { number: 9002 } };
      await bed.hand.patchPool({ appProtocol, endpointPickerRef }, 'ranks');
      await eventually(
        () => protocols.at(-1),
        (found) => found === (appProtocol ?? undefined),
      );
    }
    expect([left, protocols]).toEqual([[], ['http', 'kubernetes.io/h2c', undefined]]);
    await bed.hand.patchPool({ targetPorts: portsOf(8007, 8000) }, 'ranks');
    await settled('127.0.3.1:8000 127.0.3.1:8007');
    expect(
      endpoints
        .snapshot()
        .map(({ id, address }) => `${id} ${address}`)
        .sort(),
    ).toEqual(['default/ranks-rank-0 127.0.3.1:8007', 'default/ranks-rank-1 127.0.3.1:8000']);
  });

  test('pods come and go by address, condition and label', async () => {
    const selector = { matchLabels: { app: 'odd' } };
    await bed.hand.createPool({ selector, targetPorts: portsOf(8000) }, 'odd');
    const { settled, addresses } = bed.follow('odd');
    const labels = { app: 'odd' };
    await bed.hand.createPod('no-address', { labels, ip: '' });
    await patchStatus('no-address', {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
    });
    await bed.hand.createReadyPod('two', { labels, ip: '127.0.4.2' });
    await settled('127.0.4.2:8000');
    await patchStatus('two', {
      podIP: 'fd00::2',
      podIPs: [{ ip: 'fd00::2' }, { ip: '127.0.4.2' }],
    });
    await settled('[fd00::2]:8000');
    await patchStatus('no-address', { podIP: '127.0.4.1', podIPs: [{ ip: '127.0.4.1' }] });
    await settled('127.0.4.1:8000 [fd00::2]:8000');
    // A readiness gate that is not met: all containers are ready, and the pod is not.
    const gate = 'example.com/warm';
    await patchStatus('two', {
      conditions: [
        { type: 'ContainersReady', status: 'True' },
        { type: gate, status: 'False' },
        { type: 'Ready', status: 'False' },
      ],
    });
    await settled('127.0.4.1:8000');
    await patchStatus('two', { conditions: [{ type: 'Ready', status: 'Unknown' }] });
    await patchPod('no-address', { metadata: { labels: { app: 'other' } } });
    await settled('');
    await patchPod('no-address', { metadata: { labels: { app: 'odd' } } });
    await settled('127.0.4.1:8000');
    await bed.hand.setReady('two', true);
    await settled('127.0.4.1:8000 [fd00::2]:8000');
    await patchStatus('two', { phase: 'Failed' });
    await settled('127.0.4.1:8000');
    expect(addresses()).toBe('127.0.4.1:8000');
  });

  test('a pool goes from no pod to three hundred, and back', async () => {
    const selector = { matchLabels: { app: 'many' } };
    await bed.hand.createPool({ selector, targetPorts: portsOf(8000) }, 'many');
    const { endpoints, settled } = bed.follow('many');
    const names = Array.from({ length: 300 }, (_, at) => `many-${at}`);
    const each = async (act: (name: string, at: number) => Promise<void>): Promise<void> => {
      for (let from = 0; from < names.length; from += 20) {
        await Promise.all(names.slice(from, from + 20).map((name, at) => act(name, from + at)));
      }
    };
    await each((name, at) =>
      bed.hand.createReadyPod(name, {
        labels: { app: 'many' },
        ip: `127.1.${at >> 8}.${at & 255 || 1}`,
      }),
    );
    await eventually(
      () => endpoints.snapshot().length,
      (found) => found === 300,
    );
    await each((name) => bed.hand.deletePod(name));
    await settled('');
  });

  test('a pool of the former group without a selector says what to correct, and is followed then', async () => {
    const at = {
      group: FORMER,
      version: 'v1alpha2',
      namespace: NAMESPACE,
      plural: 'inferencepools',
    };
    const body = {
      apiVersion: `${FORMER}/v1alpha2`,
      kind: 'InferencePool',
      metadata: { name: 'former' },
      spec: { targetPortNumber: 8000 },
    };
    await bed.hand.createReadyPod('former', { labels: { app: 'former' }, ip: '127.0.5.1' });
    await bed.custom.createNamespacedCustomObject({ ...at, body });
    const { discovery, settled } = bed.follow('former', FORMER);
    await eventually(
      () => discovery.troubles.join(),
      (found) => found === 'the pool selects no pods: give spec.selector a label',
    );
    const spec = { selector: { app: 'former' } };
    await bed.custom.patchNamespacedCustomObject({ ...at, name: 'former', body: { spec } }, merge);
    await settled('127.0.5.1:8000');
    expect(discovery.troubles).toEqual([]);
    await bed.custom.patchNamespacedCustomObject(
      { ...at, name: 'former', body: { spec: { targetPortNumber: 65_535 } } },
      merge,
    );
    await settled('127.0.5.1:65535');
  });
});
