import { ConfigError } from '../../../framework/error.ts';
import { readCapture } from '../../../journal/capture/read-capture.ts';
import type { TraceContent } from '../trace.ts';
import { CaptureRequests } from './capture-requests.ts';
import { TraceCollector } from './collect-trace.ts';

/** How far a capture is read. */
export interface CaptureProgress {
  readonly readBytes: number;
  readonly totalBytes: number;
  readonly requests: number;
}

export interface CaptureReadOptions {
  /** Skip and count bad lines and sort requests that are out of order, instead of throwing. */
  readonly lenient: boolean;
  /** Called now and then while a capture is read; never for a small one. */
  readonly onCaptureProgress?: ((progress: CaptureProgress) => void) | undefined;
}

/** Less than a second's work. */
const RECORDS_BETWEEN_CALLS = 32_768;

/**
 * Reads the requests of a capture as a trace: their arrivals, their blocks, the token counts that
 * model servers reported, and what became of them. Throws TraceError with the number of the record
 * that is wrong, and ConfigError if there is no capture.
 */
export function readCaptureTrace(
  path: string,
  { lenient, onCaptureProgress }: CaptureReadOptions,
): TraceContent {
  const { records, warnings, progress } = readCapture(path);
  const collector = new TraceCollector({ source: path, lenient, ordered: false });
  const assembled = new CaptureRequests(collector);
  let line = 0;
  try {
    for (const each of records) {
      line += 1;
      const wrong = assembled.add(each, line);
      if (wrong !== undefined) collector.refuse(wrong, line);
      if (line % RECORDS_BETWEEN_CALLS !== 0) continue;
      onCaptureProgress?.({ ...progress, requests: collector.table.length });
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
