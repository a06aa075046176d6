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
  return new StandardOutput();
}

class StandardOutput implements LineWriter {
  readonly #destination = pino.destination({
    dest: 1,
    sync: false,
    maxLength: WAITING_BYTES_MAX,
  });
  #leftOut = 0;
  #isOver = false;

  constructor() {
    this.#destination.on('drop', () => {
      this.#leftOut += 1;
    });
    this.#destination.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') return;
      // The reader of the output is gone: nobody would get the lines.
      this.#isOver = true;
      this.#destination.destroy();
    });
  }

  get leftOut(): number {
    return this.#leftOut;
  }

  write(line: string): void {
    if (!this.#isOver) this.#destination.write(`${line}\n`);
  }

  end(): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    this.#isOver = true;
    return new Promise((resolve) => {
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
      this.#destination.once('close', over);
      this.#destination.once('error', () => {
        // At the exit, pino would try for ever to write what a full disk does not take.
        this.#destination.destroy();
        over();
      });
      this.#destination.end();
    });
  }
}
