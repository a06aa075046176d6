import { ConfigError } from '../../../framework/error.ts';
import { readCapture } from '../../../journal/capture/read-capture.ts';
import type { Trace } from '../trace.ts';
import { CaptureRequests } from './capture-requests.ts';
import { TraceCollector } from './collect-trace.ts';

/**
 * Reads the requests of a capture as a trace: their arrivals, their blocks, the token counts that
 * model servers reported, and what became of them. Throws TraceError with the number of the record
 * that is wrong, and ConfigError if there is no capture.
 */
export function readCaptureTrace(path: string, { lenient }: { readonly lenient: boolean }): Trace {
  const { records, warnings } = readCapture(path);
  const collector = new TraceCollector({ source: path, lenient, ordered: false });
  const assembled = new CaptureRequests();
  let line = 0;
  try {
    for (const each of records) {
      line += 1;
      const wrong = assembled.add(each);
      if (wrong !== undefined) collector.refuse(wrong, line);
    }
  } catch (error) {
    // The rest of the capture cannot be read.
    if (!lenient || !(error instanceof ConfigError)) throw error;
    collector.refuse(error.message, line);
  }
  for (const warning of warnings) collector.note(warning);
  for (const request of assembled.requests()) collector.add(request, line);
  for (const note of assembled.notes()) collector.note(note);
  return collector.trace(assembled.blockTokens);
}
