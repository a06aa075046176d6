import { describe, expect, it } from 'vitest';
import { readPool } from '../../src/lab/simulate/pool-file.ts';
import { PRESETS } from '../presets/presets.ts';
import { readPoolFile } from './stub-pool-file.ts';

describe('readPoolFile', () => {
  it('gives each server its own options over what is common', () => {
    const each = readPoolFile(
      `model: m
speed: 2
servers:
  - {count: 2, preset: llama-3.1-8b-h100}
  - {preset: llama-3.1-8b-l40s, engine: sglang, kvBlocks: 500, slowdown: 1.5}
faults:
  - {server: 2, atMs: 1000, forMs: 500, fault: {kind: crash}}
`,
      'pool.yaml',
    );
    expect(
      each.map(({ engine, kvBlocks, speed, model }) => [engine, kvBlocks, speed, model]),
    ).toEqual([
      ['vllm', PRESETS['llama-3.1-8b-h100'].kvBlocks, 2, 'm'],
      ['vllm', PRESETS['llama-3.1-8b-h100'].kvBlocks, 2, 'm'],
      ['sglang', 500, 2, 'm'],
    ]);
    expect(each[2]?.latency).toEqual(PRESETS['llama-3.1-8b-l40s'].latency);
    expect(each[0]?.faults).toHaveLength(1);
  });

  it('[B260] admits prompts as a whole, but where it shows the metrics of vLLM in 2025', () => {
    const each = readPoolFile(
      `servers: [{}, {engine: sglang}, {engine: vllm-2025}, {engine: vllm-2025, wholePromptMustFit: true}]`,
      'pool.yaml',
    );
    expect(each.slice(-4).map(({ wholePromptMustFit }) => wholePromptMustFit)).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it('[O212] lets servers listen where the command line says', () => {
    const file = '{port: 8000, servers: [{count: 2}, {host: 127.0.0.9}]}';
    const each = readPoolFile(file, 'pool.yaml', { host: '127.0.0.1', port: 9000 });
    expect(each.map(({ host, port }) => `${host}:${port}`)).toEqual(
      Array.from({ length: 3 }, () => '127.0.0.1:9000'),
    );
  });

  it('[O333] reads the pool files of simulate, with their names for memory, adapters and faults', () => {
    const text = `servers:
  - { count: 2, preset: llama-3.1-8b-h100, labels: { zone: a }, kvTokens: 20000, loraSlots: 3 }
  - { role: prefill, kvLink: { gigabytesPerSecond: 1 } }
faults:
  - { kind: slow, server: 1, atMs: 60000, forMs: 20000, factor: 3 }
  - { kind: slow, server: 2, atMs: 60000, forMs: 20000 }
`;
    expect(readPool(text, 'pool.yaml').servers).toHaveLength(3);
    const each = readPoolFile(text, 'pool.yaml');
    expect(each.map(({ kvBlocks, lorasMax, role }) => [kvBlocks, lorasMax, role])).toEqual([
      [1250, 3, 'both'],
      [1250, 3, 'both'],
      [PRESETS.study.kvBlocks, 4, 'prefill'],
    ]);
    expect(each[0]?.faults.map(({ fault }) => fault)).toEqual([
      { kind: 'slow', factor: 3 },
      { kind: 'slow', factor: 4 },
    ]);
  });

  it('draws chaos from the seed', () => {
    const read = (seed: number): unknown =>
      readPoolFile(
        `{seed: ${seed}, servers: [{count: 3}], chaos: {everyMs: 1000, forMs: 500, untilMs: 20000}}`,
        'pool.yaml',
      )[0]?.faults;
    expect(read(1)).toEqual(read(1));
    expect(read(1)).not.toEqual(read(2));
  });

  it.each([
    ['no servers', 'servers: []', /servers/],
    ['an unknown field', 'servers: [{presett: study}]', /servers\.0.*presett/s],
    [
      'coefficients that its preset does not have',
      'servers: [{preset: qwen3-14b-h100, baseMs: 3}]',
      /baseMs can only be set where step time is linear/,
    ],
    [
      'a fault for a server that is not there',
      'servers: [{}]\nfaults: [{server: 1, atMs: 0, forMs: 1, fault: {kind: hang}}]',
      /faults\[0\]\.server: is 1, and the last of the pool's servers is 0/,
    ],
    [
      'a crash while one lasts at the same server [O352]',
      `servers: [{}]
faults:
  - {server: 0, atMs: 0, forMs: 30, fault: {kind: crash}}
  - {server: 0, atMs: 29, forMs: 30, fault: {kind: crash}}
`,
      /faults\[1\]\.atMs: is 29, and faults\[0\] of the same kind lasts at that server until 30/,
    ],
  ])('refuses %s', (_what, text, message) => {
    expect(() => readPoolFile(text, 'pool.yaml')).toThrow(message);
  });
});
