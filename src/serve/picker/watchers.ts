import { dirname } from 'node:path';
import type { Registry } from 'prom-client';
import { PRIVATE_FOLDER, requireFolder } from '../../files/folders.ts';
import type { Clock } from '../../framework/runtime.ts';
import { CaptureWriter } from '../../journal/capture/capture-writer.ts';
import { registerCaptureMetrics } from '../../journal/metrics/process/capture-metrics.ts';
import { ShadowLog } from '../../shadow/shadow-log.ts';
import { type Shadow, startShadow } from '../../shadow/start-shadow.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import type { StartedPicker } from './start-picker.ts';

/** A capture has at least this many files: deleting the oldest removes a small part. */
const CAPTURE_FILES_MIN = 8;

const CAPTURE_FILE_BYTES_MAX = 256 * 1024 * 1024;

/** Starts the capture, if asked for. Throws ConfigError for a folder that cannot be made. */
export function startCaptureWriter(
  { recording: { capture: captured }, log }: ServeOptions,
  { picker, capture, registry }: StartedPicker & { readonly registry: Registry },
): CaptureWriter | undefined {
  if (captured === undefined || capture === undefined) return undefined;
  const { folder, bytesMax } = captured;
  requireFolder('--capture', folder, PRIVATE_FOLDER);
  log.info({ folder, bytesMax }, 'capturing the inputs of decisions, without text');
  const writer = new CaptureWriter({
    folder,
    fileBytesMax: Math.min(CAPTURE_FILE_BYTES_MAX, Math.ceil(bytesMax / CAPTURE_FILES_MIN)),
    totalBytesMax: bytesMax,
    drain: () => capture.drain(),
    // The first file has records of the endpoints anyway.
    head: (file) => capture.head(file, file === 0 ? [] : picker.pool.snapshot()),
    onFailed: (reason) =>
      log.error({ folder, reason }, 'the capture cannot be written; it is tried again'),
    onResumed: (lostRecords) =>
      log.info({ folder, lostRecords }, 'the capture is written again, in a new file'),
  });
  registerCaptureMetrics(registry, writer);
  capture.listen(writer.write);
  return writer;
}

/** Undefined without --shadow-log. Throws ConfigError for a folder that cannot be made. */
export function openShadowLog({
  shadowing: { shadowLog },
  log,
}: ServeOptions): ShadowLog | undefined {
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

interface WatchedPicker extends StartedPicker {
  readonly clock: Clock;
  readonly shadowLog: ShadowLog | undefined;
}

/** Starts the shadows. Each reads the records of a capture. */
export function startShadows(
  { shadowing: { shadows = [] }, log }: ServeOptions,
  { picker, capture, clock, shadowLog }: WatchedPicker,
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
    });
    capture.listen(shadow.receive);
    return shadow;
  });
}

/** Resolves once the capture is written to its end and all shadows have stopped. */
export async function stopWatchers({
  capture,
  shadows,
  shadowLog,
  stops,
}: {
  readonly capture: CaptureWriter | undefined;
  readonly shadows: readonly Shadow[];
  readonly shadowLog: ShadowLog | undefined;
  readonly stops: readonly { stop(): void }[];
}): Promise<void> {
  for (const each of stops) each.stop();
  await capture?.close();
  await Promise.all(shadows.map((shadow) => shadow.stop()));
  await shadowLog?.close();
}
