import type { Random } from '../../src/framework/runtime.ts';
import type { Fault, TimedFault } from './fault.ts';

interface ChaosOptions {
  readonly servers: number;
  /** Mean time between two faults in the whole pool. */
  readonly everyMs: number;
  readonly forMs: number;
  /** No fault begins after this time. */
  readonly untilMs: number;
}

const KINDS: readonly Fault[] = [
  { kind: 'refuse' },
  { kind: 'hang' },
  { kind: 'slow', factor: 4 },
  { kind: 'stuck' },
  { kind: 'error', status: 503, share: 0.5 },
  { kind: 'drop', afterTokens: 3, share: 0.5 },
  { kind: 'truncate', share: 0.5 },
  { kind: 'stale-metrics' },
  { kind: 'no-metrics' },
  { kind: 'garbage-metrics' },
  { kind: 'crash' },
];

/** Draws a random schedule of faults; equal for equal seeds. */
export function chaos(
  random: Random,
  { servers, everyMs, forMs, untilMs }: ChaosOptions,
): readonly TimedFault[] {
  const schedule: TimedFault[] = [];
  const wait = (meanMs: number): number => -Math.log(1 - random.next()) * meanMs;
  for (let atMs = wait(everyMs); atMs < untilMs; atMs += wait(everyMs)) {
    const fault = KINDS[Math.floor(random.next() * KINDS.length)] as Fault;
    const server = Math.floor(random.next() * servers);
    schedule.push({ server, atMs, forMs: Math.max(1, wait(forMs)), fault });
  }
  return schedule;
}
