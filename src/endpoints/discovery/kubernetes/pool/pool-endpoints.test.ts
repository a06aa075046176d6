import { describe, expect, it, test } from 'vitest';
import type { Pod } from '../watch/kube-objects.ts';
import { endpointsOf } from './pool-endpoints.ts';

const READY = [{ type: 'Ready', status: 'True' }];

function pod(name: string, overrides: object = {}, status: object = {}): Pod {
  return {
    metadata: { namespace: 'n', name, labels: { app: 'vllm' }, ...overrides },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: READY, ...status },
  };
}

const around = (...ports: readonly number[]) => ({
  ports,
  workersOf: () => [],
  inheritedLabels: undefined,
});
const addresses = (each: Pod, ...ports: readonly number[]): readonly string[] =>
  endpointsOf(each, around(...ports)).map(({ id, address }) => `${id} ${address}`);

describe('the endpoints of a pod', () => {
  test('[D461] are its ports, named by rank also where there is one, with the labels of the pod', () => {
    const [endpoint] = endpointsOf(pod('a'), around(8000));
    expect(endpoint).toMatchObject({ id: 'n/a-rank-0', address: '10.0.0.1:8000' });
    expect(endpoint?.labels.get('app')).toBe('vllm');
  });

  it.each(['10.0.0.1\r\nx: y', 'example.com', '10.0.0.1:80', '10.0.0', ' '])(
    '[V340] are none where its address is %j, which would become part of a header',
    (podIP) => {
      expect(endpointsOf(pod('a', {}, { podIP }), around(8000))).toEqual([]);
    },
  );

  it('are one for each target port: data-parallel ranks', () => {
    expect(addresses(pod('a'), 8000, 8001)).toEqual([
      'n/a-rank-0 10.0.0.1:8000',
      'n/a-rank-1 10.0.0.1:8001',
    ]);
  });

  test.each([
    [{ 'llm-d.ai/active-ports': '8001, 8002' }, ['n/a-rank-1', 'n/a-rank-2']],
    [{ 'inference.networking.k8s.io/active-ports': '8000' }, ['n/a-rank-0']],
    [
      { 'llm-d.ai/active-ports': '8002', 'inference.networking.k8s.io/active-ports': '8000' },
      ['n/a-rank-2'],
    ],
    [{ 'llm-d.ai/active-ports': '' }, []],
    [{ 'llm-d.ai/active-ports': 'all,9000' }, []],
    // As Go reads a number: what follows its digits is passed over.
    [{ 'llm-d.ai/active-ports': '8000/tcp, +8002' }, ['n/a-rank-0', 'n/a-rank-2']],
    [{ 'llm-d.ai/active-ports': '8001 8002,-8000,x8000' }, ['n/a-rank-1']],
  ])('[D93] [D533] are only the active ports of a pod with %j', (annotations, wanted) => {
    const ids = addresses(pod('a', { annotations }), 8000, 8001, 8002);
    expect(ids.map((each) => each.split(' ')[0])).toEqual(wanted);
  });

  it('have IPv6 hosts in brackets', () => {
    expect(addresses(pod('a', {}, { podIP: 'fd00::1' }), 8000)).toEqual([
      'n/a-rank-0 [fd00::1]:8000',
    ]);
  });

  it.each([
    ['is being deleted', pod('a', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['is not ready', pod('a', {}, { conditions: [{ type: 'Ready', status: 'False' }] })],
    [
      'is being evicted',
      pod('a', {}, { conditions: [...READY, { type: 'DisruptionTarget', status: 'True' }] }),
    ],
    ['has no address yet', pod('a', {}, { podIP: '' })],
    ['has failed', pod('a', {}, { phase: 'Failed' })],
    ['has no conditions', pod('a', {}, { conditions: undefined })],
  ])('leave out a pod that %s', (_what, each) => {
    expect(addresses(each, 8000)).toEqual([]);
  });

  it('are none without ports', () => {
    expect(addresses(pod('a'))).toEqual([]);
  });

  it('have the labels of the node, but for those that the pod has itself', () => {
    const inheritedLabels = new Map([
      ['zone', 'z'],
      ['app', 'of the node'],
    ]);
    const [endpoint] = endpointsOf(pod('a'), { ...around(8000), inheritedLabels });
    expect(Object.fromEntries(endpoint?.labels ?? [])).toEqual({ app: 'vllm', zone: 'z' });
  });

  it('stand on the host that their node is, as far as that is known', () => {
    const host = 'kubernetes.io/hostname';
    const placed = { ...pod('a'), spec: { nodeName: 'node-7' } };
    expect(endpointsOf(placed, around(8000))[0]?.labels.get(host)).toBe('node-7');
    const inheritedLabels = new Map([[host, 'its-own-name']]);
    const [endpoint] = endpointsOf(placed, { ...around(8000), inheritedLabels });
    expect(endpoint?.labels.get(host)).toBe('its-own-name');
  });
});
