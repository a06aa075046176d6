import { describe, expect, it } from 'vitest';
import type { Pod } from '../watch/kube-objects.ts';
import { groupMemberOf, isWhole } from './pod-group.ts';

const P = 'leaderworkerset.sigs.k8s.io';

interface Overrides {
  readonly ready?: boolean;
  readonly revision?: string;
  readonly createdAt?: string;
  readonly size?: string;
  readonly deleted?: boolean;
}

function member(index: number, overrides: Overrides = {}): Pod {
  const { ready = true, revision = 'r1', createdAt = '2026-01-01T00:00:00Z' } = overrides;
  const { size = '3', deleted = false } = overrides;
  return {
    metadata: {
      namespace: 'n',
      name: `lws-0${index === 0 ? '' : `-${index}`}`,
      creationTimestamp: createdAt,
      ...(deleted && { deletionTimestamp: '2026-01-01T00:00:09Z' }),
      labels: {
        [`${P}/name`]: 'lws',
        [`${P}/group-index`]: '0',
        [`${P}/group-key`]: 'k',
        [`${P}/worker-index`]: String(index),
        [`${P}/template-revision-hash`]: revision,
      },
      annotations: { [`${P}/size`]: size },
    },
    status: {
      podIP: '10.0.0.1',
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  };
}

describe('a group of pods', () => {
  it('is known by its labels; other pods are in none', () => {
    expect(groupMemberOf(member(0))).toEqual({ group: 'n/lws/k', isLeader: true, size: 3 });
    expect(groupMemberOf(member(2))).toMatchObject({ group: 'n/lws/k', isLeader: false });
    expect(groupMemberOf({ metadata: { labels: { app: 'vllm' } } })).toBeUndefined();
    expect(groupMemberOf({})).toBeUndefined();
  });

  it('is whole when its leader and all its workers are ready', () => {
    expect(isWhole(member(0), [member(1), member(2)])).toBe(true);
  });

  it.each([
    ['the leader is not ready', member(0, { ready: false }), [member(1), member(2)]],
    ['a worker is not ready', member(0), [member(1), member(2, { ready: false })]],
    ['a worker is being deleted', member(0), [member(1), member(2, { deleted: true })]],
    ['a worker is missing', member(0), [member(1)]],
    ['a worker is of another revision', member(0), [member(1), member(2, { revision: 'r0' })]],
    [
      'a worker was there before its leader: it is one of the group before',
      member(0, { createdAt: '2026-01-01T00:00:05Z' }),
      [member(1, { createdAt: '2026-01-01T00:00:05Z' }), member(2)],
    ],
  ])('is not whole when %s', (_what, leader, workers) => {
    expect(isWhole(leader, workers)).toBe(false);
  });

  it.each(['', 'many', '-1'])('of size %j goes by the workers that are seen', (size) => {
    expect(isWhole(member(0, { size }), [member(1, { size })])).toBe(true);
    expect(isWhole(member(0, { size }), [member(1, { size, ready: false })])).toBe(false);
  });
});
