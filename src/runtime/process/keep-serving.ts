import { isatty } from 'node:tty';

/**
 * By default SIGHUP and SIGUSR2 end a process, and SIGUSR1 has Node open a debugger to the machine.
 */
const WITHOUT_EFFECT: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGUSR1', 'SIGUSR2'];
const STDIN = 0;

/**
 * Lets this process go on after signals at which other programs read their files again, and a log
 * that cannot be written, as on a full disk.
 */
export function keepServing(): void {
  for (const signal of WITHOUT_EFFECT) {
    // A process in a terminal ends when that terminal is closed.
    if (signal !== 'SIGHUP' || !isatty(STDIN)) process.on(signal, ignore);
  }
  process.stderr.on('error', ignore);
}

function ignore(): void {}
