import { ConfigError } from '../../../framework/error.ts';
import { readCapture } from '../../../journal/capture/read-capture.ts';
import type { Trace } from '../trace.ts';
import { CaptureReading } from './capture-reading.ts';
import { TraceCollector } from './collect-trace.ts';

/**
 * A capture's requests as a trace: when they came, their blocks, the token counts that model servers reported, and what
 * became of them. Throws TraceError with the record that is wrong, and ConfigError where there is no capture.
 */
export function readCaptureTrace(path: string, { lenient }: { readonly lenient: boolean }): Trace {
  const { records, warnings } = readCapture(path);
  const collector = new TraceCollector({ source: path, lenient, ordered: false });
  const reading = new CaptureReading();
  let line = 0;
  try {
    for (const each of records) {
      line += 1;
      const wrong = reading.take(each);
      if (wrong !== undefined) collector.refuse(wrong, line);
    }
  } catch (error) {
    // What it holds from there on cannot be had.
    if (!lenient || !(error instanceof ConfigError)) throw error;
    collector.refuse(error.message, line);
  }
  for (const warning of warnings) collector.note(warning);
  for (const request of reading.requests()) collector.add(request, line);
  for (const note of reading.notes()) collector.note(note);
  return collector.trace(reading.blockTokens);
}
