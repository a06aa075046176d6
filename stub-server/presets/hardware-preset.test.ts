import { describe, expect, it } from 'vitest';
import { stubOptions } from '../options/stub-options.ts';
import { type Hardware, hardwarePreset } from './hardware-preset.ts';
import { PRESETS } from './presets.ts';

const LLAMA_8B: Hardware = {
  accelerator: 'h100',
  tensorParallel: 1,
  parameters: 8.03e9,
  layers: 32,
  kvBytesPerToken: 131_072,
  vocabulary: 128_256,
  memoryShare: 0.9,
};
const LLAMA_70B: Hardware = {
  ...LLAMA_8B,
  parameters: 70.6e9,
  layers: 80,
  kvBytesPerToken: 327_680,
};

describe('a preset by arithmetic', () => {
  it.each([
    ['8B on an H100', LLAMA_8B, 27_000],
    ['8B on an A100', { ...LLAMA_8B, accelerator: 'a100' }, 28_000],
    ['8B on an L40S', { ...LLAMA_8B, accelerator: 'l40s' }, 12_000],
    ['8B on an H200', { ...LLAMA_8B, accelerator: 'h200' }, 54_900],
    ['8B on two H100', { ...LLAMA_8B, tensorParallel: 2 }, 61_000],
    ['70B on four H100', { ...LLAMA_70B, tensorParallel: 4 }, 28_000],
    ['70B on eight H100', { ...LLAMA_70B, tensorParallel: 8 }, 83_000],
  ] as const)('has the memory that is published for %s, within 8 %%', (_what, hardware, blocks) => {
    expect(hardwarePreset(hardware).kvBlocks / blocks).toBeGreaterThan(0.92);
    expect(hardwarePreset(hardware).kvBlocks / blocks).toBeLessThan(1.08);
  });

  it.each([
    ['llama-3.1-8b-h100', LLAMA_8B],
    ['llama-3.1-8b-l40s', { ...LLAMA_8B, accelerator: 'l40s' }],
    ['llama-3.3-70b-h100-tp4', { ...LLAMA_70B, tensorParallel: 4 }],
  ] as const)('takes the time of %s within 30 %% for each of what dominates', (name, hardware) => {
    const { latency } = hardwarePreset(hardware);
    const known = PRESETS[name].latency;
    if (latency.kind !== 'roofline' || known.kind !== 'roofline') throw new Error('not a roofline');
    for (const field of ['weightsMs', 'perTokenMs', 'perAttendedSquareMs'] as const) {
      expect(latency[field] / known[field]).toBeGreaterThan(0.7);
      expect(latency[field] / known[field]).toBeLessThan(1.43);
    }
  });

  it('gives the defaults of a server with hardware in its options', () => {
    const { kvBlocks, latency } = stubOptions.parse({ hardware: LLAMA_8B });
    const preset = hardwarePreset(LLAMA_8B);
    expect([kvBlocks, latency]).toEqual([preset.kvBlocks, preset.latency]);
  });

  it('is refused where the weights do not fit', () => {
    expect(() => stubOptions.parse({ hardware: { ...LLAMA_70B, accelerator: 'l40s' } })).toThrow(
      /weights/,
    );
  });

  it('is overridden by calibrated coefficients', () => {
    const { latency } = hardwarePreset(LLAMA_70B);
    expect(stubOptions.parse({ latency }).latency).toEqual(latency);
    expect(() => stubOptions.parse({ latency, baseMs: 5 })).toThrow(/baseMs/);
  });
});
