import { ConfigError } from '../../../framework/error.ts';
import { readCapture } from '../../../journal/capture/read-capture.ts';
import type { TraceContent } from '../trace.ts';
import { CaptureRequests } from './capture-requests.ts';
import { TraceCollector } from './collect-trace.ts';

/**
 * Reads the requests of a capture as a trace: their arrivals, their blocks, the token counts that
 * model servers reported, and what became of them. Throws TraceError with the number of the record
 * that is wrong, and ConfigError if there is no capture.
 */
export function readCaptureTrace(
  path: string,
  { lenient }: { readonly lenient: boolean },
): TraceContent {
  const { records, warnings } = readCapture(path);
  const collector = new TraceCollector({ source: path, lenient, ordered: false });
  const assembled = new CaptureRequests(collector);
  let line = 0;
  try {
    for (const each of records) {
      line += 1;
      const wrong = assembled.add(each, line);
      if (wrong !== undefined) collector.refuse(wrong, line);
    }
  } catch (error) {
    // The rest of the capture cannot be read.
    if (!lenient || !(error instanceof ConfigError)) throw error;
    collector.refuse(error.message, line);
  }
  for (const warning of warnings) collector.note(warning);
  for (const note of assembled.complete()) collector.note(note);
  return collector.trace(assembled.blockTokens);
}
