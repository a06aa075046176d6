import { readFileSync } from 'node:fs';

/** What the kernel counts CPU time in towards programs (USER_HZ), on every architecture Linux runs on. */
const TICKS_PER_SECOND = 100;

/**
 * CPU time of a process so far, user and kernel, all its threads, those that have ended included: fields 14 and 15 of
 * `/proc/<pid>/stat`, in steps of 10 ms. Throws where there is no such process or no /proc.
 */
export function processCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The second field is the program's name in brackets and may itself have spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}
