import { describe, expect, it } from 'vitest';
import { poolVersionOf, readInferencePool } from './inference-pool.ts';

const selector = { matchLabels: { tier: 'gold', app: 'vllm' } };
const targetPorts = [{ number: 8000 }];

describe('a pool', () => {
  it('selects by all its labels, and has its ports in order', () => {
    const spec = { selector, targetPorts: [{ number: 9000 }, { number: 8000 }] };
    expect(readInferencePool({ spec })).toEqual({
      selector: 'app=vllm,tier=gold',
      ports: [9000, 8000],
    });
  });

  it('[D352] of the former version has bare labels and one port', () => {
    const spec = { selector: { tier: 'gold', app: 'vllm' }, targetPortNumber: 8000 };
    const read = readInferencePool({ spec });
    expect(read).toEqual({ selector: 'app=vllm,tier=gold', ports: [8000] });
    expect(poolVersionOf('inference.networking.x-k8s.io')).toBe('v1alpha2');
    expect(poolVersionOf('inference.networking.k8s.io')).toBe('v1');
  });

  it.each([
    ['no spec', undefined, 'give spec.selector.matchLabels a label'],
    ['a spec that is none', 'text', 'give spec.selector.matchLabels a label'],
    ['no labels', { selector: { matchLabels: {} }, targetPorts }, 'a label'],
    ['labels in a list', { selector: { matchLabels: ['app'] }, targetPorts }, 'a label'],
    [
      'a label that is a number',
      { selector: { matchLabels: { app: 5 } }, targetPorts },
      'spec.selector.matchLabels.app is 5: make it text',
    ],
    ['no ports', { selector }, 'give spec.targetPorts one'],
    ['ports that are none', { selector, targetPorts: 8000 }, 'give spec.targetPorts one'],
    ['nothing for a port', { selector, targetPorts: [null] }, 'targetPorts[0].number is missing'],
    ['port 0', { selector, targetPorts: [{ number: 0 }] }, 'is 0: make it a port from 1 to 65535'],
    ['half a port', { selector, targetPorts: [{ number: 80.5 }] }, 'is 80.5: make it a port'],
    ['a port as text', { selector, targetPorts: [{ number: '80' }] }, 'is "80": make it a port'],
    [
      'a former port that is none',
      { selector: { app: 'vllm' }, targetPortNumber: 0 },
      'spec.targetPortNumber is 0: make it a port',
    ],
    [
      'a port twice',
      { selector, targetPorts: [{ number: 80 }, { number: 80 }] },
      'has 80 twice: leave one of them',
    ],
    [
      'thousands of ports',
      { selector, targetPorts: Array.from({ length: 5000 }, (_, at) => ({ number: at + 1 })) },
      'leave at most 64',
    ],
  ])('with %s is not followed, and says what to put right', (_what, spec, remedy) => {
    const read = readInferencePool({ spec });
    expect('fault' in read && read.fault).toContain(remedy);
  });
});
