import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { startOpenLoop } from '../load/load.ts';
import { createPrompts } from '../load/prompts.ts';
import { startAsking } from './ask-picker.ts';

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
  /**
   * 99th percentile of requests of the same size that ask the picker itself, without Envoy and on a
   * connection that carries nothing else: what the picker takes of `p99Ms`.
   */
  readonly atPickerP99Ms: number;
  /** 99th percentile of how late this process was itself, which all figures include. */
  readonly lateP99Ms: number;
}

const PER_SECOND = 50;
const BODY_BYTES = 4096;

export async function measureOthers(
  ports: { readonly envoy: number; readonly picker: number },
  ms: number,
): Promise<Others> {
  const latencies: number[] = [];
  const atPicker: number[] = [];
  const late: number[] = [];
  const load = startOpenLoop({
    port: ports.envoy,
    perSecond: PER_SECOND,
    next: createPrompts({ bodyBytes: BODY_BYTES, stream: false, random: seededRandom(1) }),
    onLatency: (latency) => void latencies.push(latency),
  });
  const asking = startAsking(ports.picker, {
    onLatency: (latency) => void atPicker.push(latency),
    onLate: (lateness) => void late.push(lateness),
  });
  await wait(ms);
  const { failed, skipped } = load.counts();
  load.stop();
  asking.stop();
  return {
    p50Ms: at(latencies, 0.5),
    p99Ms: at(latencies, 0.99),
    answered: latencies.length,
    failed: failed + skipped,
    atPickerP99Ms: at(atPicker, 0.99),
    lateP99Ms: at(late, 0.99),
  };
}

function at(values: readonly number[], share: number): number {
  const value = values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
  return Math.round(value * 10) / 10;
}
