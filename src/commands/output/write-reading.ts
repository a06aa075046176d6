import { describeReading, type TraceReading } from '../../lab/traces/trace.ts';
import { printable } from './printable.ts';

/** Says on stderr what was read, so that a table on stdout stays one. */
export function writeReading(reading: TraceReading): void {
  for (const sentence of describeReading(reading))
    process.stderr.write(printable(`trace: ${sentence}\n`));
}
