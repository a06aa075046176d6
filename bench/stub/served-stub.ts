import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { processCpuMs } from '../cost/cpu.ts';
import { startChild } from '../load/child.ts';

const MAIN = join(import.meta.dirname, '../../src/main.ts');

/** `pointsman stub` in a process of its own, so that what asks it is not counted as serving. */
export interface ServedStub {
  readonly ports: readonly number[];
  /** CPU time so far, all threads. */
  cpuMs(): number;
  /** What it keeps in memory now, and the most it has ever kept. */
  memory(): { readonly bytes: number; readonly peakBytes: number };
  stop(): Promise<void>;
}

/** Starts one with these flags on free ports. Throws when it does not serve. */
export async function startServedStub(flags: readonly string[]): Promise<ServedStub> {
  const child = await startChild({
    name: 'stub',
    command: process.execPath,
    args: [MAIN, 'stub', '--json', '--port', '0', ...flags],
    log: (line) => process.stderr.write(`${line}\n`),
  });
  const { endpoints } = child.said as { readonly endpoints: readonly string[] };
  return {
    ports: endpoints.map((address) => Number(address.slice(address.lastIndexOf(':') + 1))),
    cpuMs: () => processCpuMs(child.pid),
    memory: () => {
      const status = readFileSync(`/proc/${child.pid}/status`, 'latin1');
      return { bytes: kilobytes(status, 'VmRSS'), peakBytes: kilobytes(status, 'VmHWM') };
    },
    stop: () => child.stop(),
  };
}

function kilobytes(status: string, field: string): number {
  return 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
}
