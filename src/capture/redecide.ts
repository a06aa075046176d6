import { beginsRun, type CaptureHead } from './begins-run.ts';
import type { CaptureRecord } from './capture-record.ts';
import { type RedecideOptions, Redecider, type Redecision } from './redecider.ts';

export interface RunRedecision extends Redecision {
  /** From 1: of the picker's runs that are in the capture. Each numbers its requests from 0. */
  readonly run: number;
}

/**
 * Decides everything in a capture again, one decision a step; each run of the picker by a core of its own, as it was. Throws
 * on a capture that does not begin at its beginning.
 */
export function* redecide(
  records: Iterable<CaptureRecord>,
  options: RedecideOptions,
): Generator<RunRedecision, void> {
  let head: CaptureHead | undefined;
  let redecider: Redecider | undefined;
  let run = 0;
  for (const record of records) {
    if (record.e === 'capture') {
      if (beginsRun(record, head)) {
        redecider?.stop();
        redecider = new Redecider(record, options);
        run += 1;
      }
      head = record;
      continue;
    }
    if (redecider === undefined) {
      throw new Error('the capture has no beginning: its first record must be of the kind capture');
    }
    const decided = redecider.take(record);
    if (decided !== undefined) yield { ...decided, run };
  }
  redecider?.stop();
}
