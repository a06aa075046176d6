import { createHmac, randomBytes } from 'node:crypto';
import type { PickerPlan } from '../config/picker-plan.ts';
import type { EndpointPicker } from '../endpoint-picker.ts';
import type { Clock } from '../framework/runtime.ts';
import type { Scheduler } from '../framework/scheduling.ts';
import { CaptureTap, tapped } from './capture-picker.ts';
import { CAPTURE_VERSION, type CaptureRecord } from './capture-record.ts';
import { CaptureWriter } from './capture-writer.ts';
import { EventClock } from './event-clock.ts';

export interface CaptureOptions {
  readonly folder: string;
  readonly totalBytesMax: number;
  readonly plan: PickerPlan;
  readonly seed: number;
  readonly clock: Clock;
  readonly onFailed: (reason: string) => void;
}

/** What a picker is made with, and wrapped in, to be captured. */
export interface Capture {
  readonly clock: EventClock;
  readonly wrapScheduler: (scheduler: Scheduler) => Scheduler;
  readonly wrapPicker: (picker: EndpointPicker) => EndpointPicker;
  /** Writes what is left. */
  stop(): Promise<void>;
}

/** A capture is kept in so many files or more, so that deleting the oldest takes no great part of it. */
const FILES_MIN = 8;
const FILE_BYTES_MAX = 256 * 1024 * 1024;

/** Begins a capture. Throws when its folder cannot be made. */
export function startCapture(options: CaptureOptions): Capture {
  const { folder, totalBytesMax, plan, seed, clock, onFailed } = options;
  // Never written: without it nobody can tell by trying who a fairness id is.
  const secret = randomBytes(32);
  const head = (file: number): CaptureRecord => ({
    e: 'capture',
    version: CAPTURE_VERSION,
    seed,
    config: plan.effective,
    wallMs: clock.wallTime(),
    t: clock.now(),
    file,
  });
  const fileBytesMax = Math.min(FILE_BYTES_MAX, Math.ceil(totalBytesMax / FILES_MIN));
  const writer = new CaptureWriter({ folder, fileBytesMax, totalBytesMax, head, onFailed });
  const { write } = writer;
  const events = new EventClock(clock, (i, t) => write({ e: 'timer', t, i }));
  const hash = (text: string): string =>
    createHmac('sha256', secret).update(text).digest('base64url').slice(0, 16);
  const tap = new CaptureTap({ clock: events, hash: remembered(hash), write });
  return {
    clock: events,
    wrapScheduler: (scheduler) => ({
      schedule: (endpoints, context) => {
        const result = scheduler.schedule(endpoints, context);
        tap.decided(result);
        return result;
      },
    }),
    wrapPicker: (picker) => tapped(picker, tap),
    stop: () => writer.close(),
  };
}

/** Tenants are few and come again. */
const REMEMBERED_MAX = 10_000;

function remembered(hash: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = hash(text);
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(text, made);
    return made;
  };
}
