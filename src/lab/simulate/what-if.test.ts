import { describe, expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { readPool } from './pool-file.ts';
import { reshape, shapesOf } from './what-if.ts';

const POOL = readPool(
  `servers:
  - {count: 6, kvTokens: 1000}
  - {count: 2, preset: llama-3.3-70b-h100-tp4, kvTokens: 1000}
faults:
  - {kind: slow, server: 0, atMs: 1, forMs: 1}
  - {kind: crash, server: 7, atMs: 1, forMs: 1}
`,
  'pool.yaml',
);

function presets(shape: string): readonly (string | undefined)[] {
  return reshape(POOL, shape).servers.map(({ preset }) => preset);
}

describe('shapesOf', () => {
  it.each([
    ['add-replica', ['add-replica']],
    ['replicas=4..12:4', ['replicas=4', 'replicas=8', 'replicas=12']],
    ['kv×1..2', ['kv×1', 'kv×2']],
    ['replicas=1..2+kv×0.5', ['replicas=1+kv×0.5', 'replicas=2+kv×0.5']],
  ])('reads %s', (sweep, shapes) => {
    expect(shapesOf(sweep)).toEqual(shapes);
  });

  it.each([
    ['more-replicas', /more-replicas: is none of add-replica/],
    ['replicas=12..4', /is an empty range/],
    ['replicas=1..4:0', /has more than 64 shapes/],
    ['replicas=1..65', /has more than 64 shapes/],
    ['replicas=1..9+kv×1..9', /has more than 64 shapes/],
    ['prefill:decode=2', /is none of/],
    ['', /is none of/],
  ])('refuses %s', (sweep, message) => {
    expect(() => shapesOf(sweep)).toThrow(message);
  });
});

describe('reshape', () => {
  it('keeps the mix of servers, and numbers them anew', () => {
    const large = reshape(POOL, 'replicas=12').servers;
    expect(large.map(({ id }) => id)).toEqual(large.map((_, place) => `server-${place}`));
    expect(large.filter(({ accelerators }) => accelerators === 4)).toHaveLength(3);
    expect(presets('replicas=4').filter((name) => name === 'llama-3.1-8b-h100')).toHaveLength(3);
    expect(presets('add-replica')).toEqual(['llama-3.1-8b-h100', ...presets('replicas=8')]);
    expect(presets('remove-replica')).toEqual(presets('replicas=8').slice(0, 7));
    expect(presets('remove-replica=7')).toEqual(['llama-3.1-8b-h100']);
  });

  it('leaves out the faults of places that are gone', () => {
    expect(reshape(POOL, 'remove-replica').faults.map(({ server }) => server)).toEqual([
      'server-0',
    ]);
    expect(reshape(POOL, 'kv×2').faults).toEqual(POOL.faults);
  });

  it('changes memory, speed, roles and accelerators, several at once', () => {
    const [first, , , last] = reshape(POOL, 'prefill:decode=1:3+kv×1.5+speed×2').servers;
    expect(first).toMatchObject({ kvTokens: 1500, slowdown: 0.5 });
    expect(first?.labels['llm-d.ai/role']).toBe('prefill');
    expect(last?.labels['llm-d.ai/role']).toBe('decode');
    const [other] = reshape(POOL, 'preset=llama-3.1-8b-l40s').servers;
    const { latency, kvBlocks } = PRESETS['llama-3.1-8b-l40s'];
    expect(other).toMatchObject({ latency, kvTokens: 16 * kvBlocks, accelerators: 1 });
  });

  it.each([
    ['remove-replica=8', /0 servers: must be 1 to 10000; the pool has 8/],
    ['replicas=0', /0 servers/],
    ['replicas=10001', /10001 servers/],
    ['kv×0', /×0: must be above 0/],
    ['preset=abacus', /abacus: is not a preset; the presets are study, /],
  ])('refuses %s', (shape, message) => {
    expect(() => reshape(POOL, shape)).toThrow(message);
  });
});
