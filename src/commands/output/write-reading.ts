import { describeReading, type TraceReading } from '../../lab/traces/trace.ts';

/** Says on stderr what was read, so that a table on stdout stays one. */
export function writeReading(reading: TraceReading): void {
  for (const sentence of describeReading(reading)) process.stderr.write(`trace: ${sentence}\n`);
}
