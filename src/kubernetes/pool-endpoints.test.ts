import { describe, expect, it } from 'vitest';
import { endpointsOf, type Pod, selectorOf } from './pool-endpoints.ts';

const READY = [{ type: 'Ready', status: 'True' }];

function pod(name: string, overrides: object = {}, status: object = {}): Pod {
  return {
    metadata: { namespace: 'n', name, labels: { app: 'vllm' }, ...overrides },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: READY, ...status },
  };
}

const pool = (...ports: readonly number[]) => ({
  spec: {
    selector: { matchLabels: { app: 'vllm', tier: 'gold' } },
    targetPorts: ports.map((number) => ({ number })),
  },
});
const addresses = (pods: readonly Pod[], ...ports: readonly number[]): readonly string[] =>
  endpointsOf(pool(...ports), pods).map(({ id, address }) => `${id} ${address}`);

describe('the endpoints of an InferencePool', () => {
  it('are its ready pods, with their labels', () => {
    const [endpoint] = endpointsOf(pool(8000), [pod('a')]);
    expect(endpoint).toMatchObject({ id: 'n/a', address: '10.0.0.1:8000' });
    expect(endpoint?.labels.get('app')).toBe('vllm');
  });

  it('are one for each target port: data-parallel ranks', () => {
    expect(addresses([pod('a')], 8000, 8001)).toEqual([
      'n/a-rank-0 10.0.0.1:8000',
      'n/a-rank-1 10.0.0.1:8001',
    ]);
  });

  it('have IPv6 hosts in brackets', () => {
    expect(addresses([pod('a', {}, { podIP: 'fd00::1' })], 8000)).toEqual(['n/a [fd00::1]:8000']);
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
    expect(addresses([each], 8000)).toEqual([]);
  });

  it('are none without a pool, or without ports', () => {
    expect(endpointsOf(undefined, [pod('a')])).toEqual([]);
    expect(addresses([pod('a')])).toEqual([]);
  });

  it('are selected by all labels of the pool, and not at all by none', () => {
    expect(selectorOf(pool(8000))).toBe('app=vllm,tier=gold');
    expect(selectorOf({ spec: { selector: { matchLabels: {} } } })).toBeUndefined();
    expect(selectorOf({})).toBeUndefined();
  });
});
