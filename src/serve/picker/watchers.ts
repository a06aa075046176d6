import { dirname } from 'node:path';
import type { Registry } from 'prom-client';
import { PRIVATE_FOLDER, requireFolder } from '../../files/folders.ts';
import type { Clock } from '../../framework/runtime.ts';
import { CaptureWriter } from '../../journal/capture/capture-writer.ts';
import { registerCaptureMetrics } from '../../journal/metrics/process/capture-metrics.ts';
import { logSchedulers } from '../../journal/metrics/process/log-scheduler.ts';
import type { Promotion } from '../../promotion/promotion.ts';
import type { OutgoingFiles } from '../../runtime/network/client/outgoing-files.ts';
import { ShadowLog } from '../../shadow/shadow-log.ts';
import { type Shadow, startShadow } from '../../shadow/start-shadow.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import type { PromotionControl } from './promotion-control.ts';
import { registerSchedulers } from './register-metrics.ts';
import type { StartedPicker } from './start-picker.ts';

/** A capture has at least this many files: deleting the oldest removes a small part. */
const CAPTURE_FILES_MIN = 8;

const CAPTURE_FILE_BYTES_MAX = 256 * 1024 * 1024;

const CAPTURE_TROUBLE = 'the capture cannot be written';

export interface Watchers {
  readonly shadows: readonly Shadow[];
  readonly promotion: Promotion | undefined;
  readonly recording: {
    /** Why the capture is not written, as a sentence; undefined while it is, or without one. */
    readonly trouble: string | undefined;
  };
  /** Resolves once the capture is written to its end and all shadows have stopped. */
  stop(): Promise<void>;
}

interface WatchersParts extends StartedPicker {
  readonly promotionControl: PromotionControl | undefined;
  readonly registry: Registry;
  readonly clock: Clock;
  /** Files that connections of shadows cannot use are reported with those of the picker. */
  readonly tlsFiles: Pick<OutgoingFiles, 'refusedElsewhere'>;
}

/**
 * Starts what watches a picker decide: the capture, the shadows and what promotes one of them.
 * Throws ConfigError for a folder that cannot be made.
 */
export function startWatchers(options: ServeOptions, parts: WatchersParts): Watchers {
  const { picker, promotionControl, registry, clock } = parts;
  const capture = startCaptureWriter(options, parts);
  const shadowLog = openShadowLog(options);
  const shadows = startShadows(options, { ...parts, shadowLog });
  const promotion = promotionControl?.start(picker, shadows);
  registerSchedulers(registry, { picker, shadows, promotion });
  const states = logSchedulers(picker, { clock, log: options.log });
  return {
    shadows,
    promotion,
    recording: {
      get trouble() {
        return capture?.trouble();
      },
    },
    stop: async () => {
      states.stop();
      await capture?.close();
      await Promise.all(shadows.map((shadow) => shadow.stop()));
      await shadowLog?.close();
    },
  };
}

interface WrittenCapture {
  /** Why it is not written, as a sentence; undefined while it is. */
  readonly trouble: () => string | undefined;
  readonly close: () => Promise<void>;
}

/** Starts the capture, if asked for. Throws ConfigError for a folder that cannot be made. */
function startCaptureWriter(
  { recording: { capture: captured }, log }: ServeOptions,
  { picker, capture, registry }: StartedPicker & { readonly registry: Registry },
): WrittenCapture | undefined {
  if (captured === undefined || capture === undefined) return undefined;
  const { folder, bytesMax } = captured;
  requireFolder('--capture', folder, PRIVATE_FOLDER);
  log.info({ folder, bytesMax }, 'capturing the inputs of decisions, without text');
  let reason = '';
  const writer = new CaptureWriter({
    folder,
    fileBytesMax: Math.min(CAPTURE_FILE_BYTES_MAX, Math.ceil(bytesMax / CAPTURE_FILES_MIN)),
    totalBytesMax: bytesMax,
    drain: () => capture.drain(),
    // The first file has records of the endpoints anyway.
    head: (file) => capture.head(file, file === 0 ? [] : picker.pool.snapshot()),
    onFailed: (why) => {
      reason = why;
      log.error({ folder, reason }, 'the capture cannot be written; it is tried again');
    },
    onResumed: (lostRecords) =>
      log.info({ folder, lostRecords }, 'the capture is written again, in a new file'),
  });
  registerCaptureMetrics(registry, writer);
  capture.listen(writer.write);
  return {
    trouble: () => (writer.status().writing ? undefined : `${CAPTURE_TROUBLE}: ${reason}`),
    close: () => writer.close(),
  };
}

/** Undefined without --shadow-log. Throws ConfigError for a folder that cannot be made. */
function openShadowLog({ shadowing: { shadowLog }, log }: ServeOptions): ShadowLog | undefined {
  if (shadowLog === undefined) return undefined;
  const { path } = shadowLog;
  requireFolder('--shadow-log', dirname(path), PRIVATE_FOLDER);
  return new ShadowLog({
    ...shadowLog,
    onFailed: (reason) =>
      log.error({ path, reason }, 'the shadow log cannot be written; it is tried again'),
    onResumed: (leftOut) => log.info({ path, leftOut }, 'the shadow log is written again'),
  });
}

interface WatchedPicker extends StartedPicker, Pick<WatchersParts, 'clock' | 'tlsFiles'> {
  readonly shadowLog: ShadowLog | undefined;
}

/** Starts the shadows. Each reads the records of a capture. */
function startShadows(
  { shadowing: { shadows = [] }, log }: ServeOptions,
  { picker, capture, clock, shadowLog, tlsFiles }: WatchedPicker,
): readonly Shadow[] {
  if (capture === undefined) return [];
  return shadows.map((data) => {
    const initialRecords = (): Uint8Array => capture.begin(picker.pool.snapshot());
    const shadow = startShadow({
      ...data,
      name: data.source,
      initialRecords,
      drain: () => capture.drain(),
      clock,
      log,
      onDecisions: shadowLog?.write,
      onFilesRefused: (files) => tlsFiles.refusedElsewhere(files),
    });
    capture.listen(shadow.receive);
    return shadow;
  });
}
