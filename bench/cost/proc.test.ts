import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { processCpuMs } from './proc.ts';

const BURN =
  'const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);';

describe.skipIf(!existsSync('/proc/self/stat'))('processCpuMs', () => {
  it('counts threads, also those that have ended', async () => {
    const before = processCpuMs(process.pid);
    await new Promise((resolve) => new Worker(BURN, { eval: true }).once('exit', resolve));
    expect(processCpuMs(process.pid) - before).toBeGreaterThanOrEqual(250);
  });
});
