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
      'a pool file of the stub [O333]',
      'model: m\nservers: [{kvBlocks: 3}]',
      /kvBlocks: is not a known field.*a file for `pointsman stub` has others/s,
    ],
    [
      'a fault at a server that is not there',
      'servers: [{}]\nfaults: [{kind: slow, server: 3, atMs: 0, forMs: 1}]',
      /faults\[0\]\.server: is 3, and the last of the pool's servers is 0/,
    ],
    [
      'a fault while one of its kind lasts at the same server [O352]',
      `servers: [{count: 2}]
faults:
  - {kind: slow, server: 1, atMs: 80, forMs: 30}
  - {kind: slow, server: 1, atMs: 60, forMs: 30}
`,
      /faults\[0\]\.atMs: is 80, and faults\[1\] of the same kind lasts at that server until 90/,
    ],
  ])('refuses %s', (_what, text, message) => {
    expect(() => readPool(text, 'pool.yaml')).toThrow(message);
  });

  it('[O352] takes faults of one kind that follow each other, and of two kinds at once', () => {
    const pool = readPool(
      `servers: [{count: 2}]
faults:
  - {kind: slow, server: 1, atMs: 60, forMs: 30}
  - {kind: slow, server: 1, atMs: 90, forMs: 30}
  - {kind: slow, server: 0, atMs: 90, forMs: 30}
  - {kind: crash, server: 1, atMs: 70, forMs: 30}
`,
      'pool.yaml',
    );
    expect(pool.faults).toHaveLength(4);
  });
});
