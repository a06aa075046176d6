import type { Command } from 'commander';
import { DECISIONS_MAX, ENDPOINTS_MAX } from '../../journal/explain/decision-recorder.ts';
import type { RecordingOptions } from '../../serve/options/serve-options.ts';
import { atLeastOne, wholeNumber, writtenBytes } from './option-values.ts';

/** Some tens of millions of requests. */
const CAPTURE_BYTES_MAX = 4 * 1024 * 1024 * 1024;

export interface RecordingFlags extends Omit<RecordingOptions, 'capture'> {
  /** The folder. */
  readonly capture?: string;
  readonly captureMaxBytes: number;
}

/** What is kept of decisions: captures, and what `pointsman explain` shows. */
export function addRecordingOptions(command: Command): Command {
  return command
    .option(
      '--capture <folder>',
      'write the inputs and results of decisions there, without text; see docs/trace-format.md',
    )
    .option(
      '--capture-max-bytes <n>',
      'delete the oldest files of the capture beyond this size',
      writtenBytes,
      CAPTURE_BYTES_MAX,
    )
    .option(
      '--explain-decisions <n>',
      'number of recent decisions that `pointsman explain` can show; 0 records none',
      wholeNumber,
      DECISIONS_MAX,
    )
    .option(
      '--explain-endpoints <n>',
      'keep all scores of pools of up to this size, and the 16 best of larger ones',
      atLeastOne,
      ENDPOINTS_MAX,
    );
}

/** The capture that the flags ask for. */
export function captureFrom({
  capture,
  captureMaxBytes,
}: RecordingFlags): RecordingOptions['capture'] {
  return capture === undefined ? undefined : { folder: capture, bytesMax: captureMaxBytes };
}
