import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { startOpenLoop } from '../load/load.ts';
import { createPrompts } from '../load/prompts.ts';

/** Memory of a process in MB; `peak` since its start. */
export function memoryOf(pid: number): { readonly nowMb: number; readonly peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024);
  return { nowMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
}

/** What other clients get: small requests at a constant rate through Envoy. */
export interface Others {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly answered: number;
  readonly failed: number;
}

const PER_SECOND = 50;
const BODY_BYTES = 4096;

export async function measureOthers(port: number, ms: number): Promise<Others> {
  const latencies: number[] = [];
  const load = startOpenLoop({
    port,
    perSecond: PER_SECOND,
    next: createPrompts({ bodyBytes: BODY_BYTES, stream: false, random: seededRandom(1) }),
    onLatency: (latency) => void latencies.push(latency),
  });
  await wait(ms);
  const { failed, skipped } = load.counts();
  load.stop();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((latencies[Math.floor(latencies.length * share)] ?? Number.NaN) * 10) / 10;
  return { p50Ms: at(0.5), p99Ms: at(0.99), answered: latencies.length, failed: failed + skipped };
}
