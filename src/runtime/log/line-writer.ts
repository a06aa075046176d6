import { pino } from 'pino';

/** Bytes that may wait for who reads the output; further lines are left out. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;

/** Writes lines without waiting for who reads them. */
export interface LineWriter {
  /** Lines that were left out, because those before were not read. */
  readonly leftOut: number;
  write(line: string): void;
  /** Writes what waits, unless it cannot be written any more. */
  end(): Promise<void>;
}

/** Lines on standard output. */
export function standardOutput(): LineWriter {
  const destination = pino.destination({ dest: 1, sync: false, maxLength: WAITING_BYTES_MAX });
  let leftOut = 0;
  destination.on('drop', () => {
    leftOut += 1;
  });
  // Who read the output is gone: there is nothing left to tell.
  destination.on('error', () => undefined);
  return {
    get leftOut() {
      return leftOut;
    },
    write: (line) => void destination.write(`${line}\n`),
    end: () => new Promise((resolve) => destination.flush(() => resolve())),
  };
}
