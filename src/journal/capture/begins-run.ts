import type { CaptureRecord } from './capture-record.ts';

export type CaptureHead = Extract<CaptureRecord, { e: 'capture' }>;

/** Whether another run of a picker begins there, and not just the next file of the run that `before` is of. */
export function beginsRun(
  head: Pick<CaptureHead, 'file' | 'seed'>,
  before: Pick<CaptureHead, 'file' | 'seed'> | undefined,
): boolean {
  return before === undefined || head.seed !== before.seed || head.file !== before.file + 1;
}
