import { dirname } from 'node:path';
import { requireFolder } from '../files/folders.ts';
import type { Clock } from '../framework/runtime.ts';
import { CaptureWriter } from '../journal/capture/capture-writer.ts';
import { startTap, type Tap } from '../journal/capture/start-tap.ts';
import { ShadowLog } from '../lab/shadow/shadow-log.ts';
import { type Shadow, startShadow } from '../lab/shadow/start-shadow.ts';
import type { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { ServeOptions } from './serve-options.ts';

/** A capture is kept in so many files or more, so that deleting the oldest takes no great part of it. */
const CAPTURE_FILES_MIN = 8;

const CAPTURE_FILE_BYTES_MAX = 256 * 1024 * 1024;

/** Undefined where nobody listens: then requests pay nothing for it. */
export function tapOf(
  { capture, shadows = [], shadowPlans, plan }: ServeOptions,
  parts: { readonly seed: number; readonly clock: Clock },
): Tap | undefined {
  if (capture === undefined && shadows.length === 0) return undefined;
  return startTap({ ...parts, plan, shadows: shadowPlans });
}

/** Writes what the tap hears; undefined where nobody asked for it. Throws ConfigError for a folder that cannot be. */
export function captureOf(
  { capture, log }: ServeOptions,
  { tap, pool }: { readonly tap: Tap; readonly pool: Pick<EndpointPicker['pool'], 'snapshot'> },
): CaptureWriter | undefined {
  if (capture === undefined) return undefined;
  const { folder, bytesMax } = capture;
  requireFolder('--capture', folder);
  log.info({ folder, bytesMax }, 'capturing what goes into decisions, without text');
  const writer = new CaptureWriter({
    folder,
    fileBytesMax: Math.min(CAPTURE_FILE_BYTES_MAX, Math.ceil(bytesMax / CAPTURE_FILES_MIN)),
    totalBytesMax: bytesMax,
    drain: () => tap.drain(),
    // Who reads on from the first knows of the pool from there.
    head: (file) => tap.head(file, file === 0 ? [] : pool.snapshot()),
    onFailed: (reason) => log.error({ folder, reason }, 'the capture has ended; serving goes on'),
  });
  tap.listen(writer.write);
  return writer;
}

/** Undefined where nobody asked for it. Throws ConfigError where its folder cannot be. */
export function shadowLogOf({ shadowLog, log }: ServeOptions): ShadowLog | undefined {
  if (shadowLog === undefined) return undefined;
  const { path } = shadowLog;
  requireFolder('--shadow-log', dirname(path));
  return new ShadowLog({
    ...shadowLog,
    onFailed: (reason) =>
      log.error({ path, reason }, 'the shadows’ log has ended; serving goes on'),
  });
}

/** Starts the shadows, each hearing all that the tap hears. */
export function shadowsOf(
  { shadows = [], log }: ServeOptions,
  {
    tap,
    picker,
    shadowLog,
  }: {
    readonly tap: Tap;
    readonly picker: EndpointPicker;
    readonly shadowLog: ShadowLog | undefined;
  },
): readonly Shadow[] {
  return shadows.map((data) => {
    const begin = (): Uint8Array => tap.begin(picker.pool.snapshot());
    const shadow = startShadow({
      ...data,
      name: data.source,
      begin,
      drain: () => tap.drain(),
      log,
      onDecisions: shadowLog?.write,
    });
    tap.listen(shadow.hear);
    return shadow;
  });
}

export async function stopWatchers({
  capture,
  shadows,
  shadowLog,
}: {
  readonly capture: CaptureWriter | undefined;
  readonly shadows: readonly Shadow[];
  readonly shadowLog: ShadowLog | undefined;
}): Promise<void> {
  await capture?.close();
  await Promise.all(shadows.map((shadow) => shadow.stop()));
  await shadowLog?.close();
}
