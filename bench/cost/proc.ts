import { readFileSync } from 'node:fs';

/** The unit of CPU times in /proc (USER_HZ), on every architecture that Linux supports. */
const TICKS_PER_SECOND = 100;

/** CPU time of all threads of a process, including those that have ended. */
export interface CpuTimes {
  readonly userMs: number;
  readonly systemMs: number;
}

/**
 * CPU times of a process so far (fields 14 and 15 of `/proc/<pid>/stat`), in steps of 10 ms. Throws
 * where there is no such process or no /proc.
 */
export function processCpuTimes(pid: number): CpuTimes {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field is the program's name in brackets; it may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ms = (field: string | undefined): number => (Number(field) * 1000) / TICKS_PER_SECOND;
  return { userMs: ms(fields[11]), systemMs: ms(fields[12]) };
}

/** User and kernel time of a process so far; see `processCpuTimes`. */
export function processCpuMs(pid: number): number {
  const { userMs, systemMs } = processCpuTimes(pid);
  return userMs + systemMs;
}

/**
 * Memory of a process that is in RAM, in MB (10^6 bytes). Throws where there is no such process.
 */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return (kib * 1024) / 1e6;
}
