import { describe, expect, it } from 'vitest';
import { readPool } from './pool-file.ts';

describe('readPool', () => {
  it('reads groups of unlike servers and faults by their place', () => {
    const pool = readPool(
      `servers:
  - {count: 2, preset: llama-3.1-8b-h100}
  - {preset: llama-3.1-8b-l40s, labels: {zone: b}, slowdown: 2, loraSlots: 4}
faults:
  - {kind: crash, server: 2, atMs: 1000, forMs: 500}
`,
      'pool.yaml',
    );
    expect(pool.servers.map(({ id, slowdown }) => [id, slowdown])).toEqual([
      ['server-0', 1],
      ['server-1', 1],
      ['server-2', 2],
    ]);
    expect(pool.servers[2]?.loras?.slots).toBe(4);
    expect(pool.faults[0]?.server).toBe('server-2');
  });

  it.each([
    ['no servers', 'servers: []', /servers/],
    ['an unknown preset', 'servers: [{preset: abacus}]', /servers\[0\]\.preset/],
    ['a misspelt field', 'servers: [{cuont: 3}]', /cuont/],
    [
      'a fault at a server that is not there',
      'servers: [{}]\nfaults: [{kind: slow, server: 3, atMs: 0, forMs: 1}]',
      /faults\.0\.server: is 3, but the pool has 1 servers/,
    ],
  ])('refuses %s', (_what, text, message) => {
    expect(() => readPool(text, 'pool.yaml')).toThrow(message);
  });
});
