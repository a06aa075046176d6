import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** Sets how many files a process may have open; without a number none that it has not yet. */
export function limitFiles(pid: number | undefined, most?: number): void {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let free = 0;
  while (open.has(free)) free += 1;
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${most ?? free}:`]);
}
