import { readdirSync, readFileSync } from 'node:fs';

/** The first thread of a picker decides. */
export type CountedThreads = 'all' | 'deciding';

/**
 * CPU time of the threads of a process so far, in steps of a microsecond or less: the first field
 * of each thread's `schedstat` is in nanoseconds. Throws where there is no such process or file.
 */
export function cpuMs(pid: number, threads: CountedThreads): number {
  let nanoseconds = 0;
  const counted = threads === 'all' ? readdirSync(`/proc/${pid}/task`) : [String(pid)];
  for (const thread of counted) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1');
    nanoseconds += Number(stat.split(' ')[0]);
  }
  return nanoseconds / 1e6;
}
