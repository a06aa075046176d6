import { type LoadOptions, loadTraceContent } from '../../lab/traces/reading/load-trace.ts';
import type { TraceContent } from '../../lab/traces/trace.ts';
import { startProgress } from '../output/progress.ts';

/** Reads and shapes a trace, and shows on a terminal how far a large capture is read. */
export function loadShowingProgress(
  path: string,
  options: Omit<LoadOptions, 'sessions' | 'onCaptureProgress'>,
): TraceContent {
  let bar: ReturnType<typeof startProgress> | undefined;
  try {
    return loadTraceContent(path, {
      ...options,
      onCaptureProgress: ({ readBytes, totalBytes, requests }) => {
        bar ??= startProgress({
          total: totalBytes,
          format: '{percentage} % of the capture, {requests} requests',
          payload: { requests },
        });
        bar.update(Math.min(readBytes, totalBytes), { requests });
      },
    });
  } finally {
    bar?.stop();
  }
}
