import { pino } from 'pino';

/** Bytes that may wait for the reader of the output; further lines are left out. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

/** At the end the reader of the output has so long to take what is left. */
const END_MS = 1000;

/** Writes lines without waiting for their reader. */
export interface LineWriter {
  /** Lines that were left out, because those before were not read. */
  readonly leftOut: number;
  write(line: string): void;
  /**
   * Writes what waits, for a second at most. Where nobody reads an output that is open, the process
   * will end by SIGKILL, because it could not end otherwise.
   */
  end(): Promise<void>;
}

/** Lines on standard output. */
export function standardOutput(): LineWriter {
  const destination = pino.destination({ dest: 1, sync: false, maxLength: WAITING_BYTES_MAX });
  let leftOut = 0;
  destination.on('drop', () => {
    leftOut += 1;
  });
  let isOver = false;
  destination.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') return;
    // The reader of the output is gone: nobody would get the lines.
    isOver = true;
    destination.destroy();
  });
  return {
    get leftOut() {
      return leftOut;
    },
    write: (line) => {
      if (!isOver) destination.write(`${line}\n`);
    },
    end: () =>
      new Promise((resolve) => {
        if (isOver) return resolve();
        isOver = true;
        const stuck = setTimeout(() => {
          // First of all listeners: others write at the exit what they still have, and would wait
          // for ever.
          process.prependOnceListener('exit', () => process.kill(process.pid, 'SIGKILL'));
          resolve();
        }, END_MS);
        const over = (): void => {
          clearTimeout(stuck);
          resolve();
        };
        destination.once('close', over);
        destination.once('error', () => {
          // At the exit, pino would try for ever to write what a full disk does not take.
          destination.destroy();
          over();
        });
        destination.end();
      }),
  };
}
