import { readFileSync } from 'node:fs';

/** The unit of CPU times in /proc (USER_HZ), on every architecture that Linux supports. */
const TICKS_PER_SECOND = 100;

/**
 * CPU time of a process so far: user and kernel, all threads including those that have ended
 * (fields 14 and 15 of `/proc/<pid>/stat`), in steps of 10 ms. Throws where there is no such
 * process or no /proc.
 */
export function processCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field is the program's name in brackets; it may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}

/**
 * Memory of a process that is in RAM, in MB (10^6 bytes). Throws where there is no such process.
 */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
  return (kib * 1024) / 1e6;
}
