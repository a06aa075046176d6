import { createHmac, randomBytes } from 'node:crypto';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Scheduler } from '../../framework/scheduling.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { CaptureLines, type Sink } from './capture-lines.ts';
import { CaptureTap, tapped } from './capture-picker.ts';
import { CAPTURE_VERSION, type CaptureRecord, type EndpointRecord } from './capture-record.ts';
import { EventClock } from './event-clock.ts';
import { utf8 } from './line-bytes.ts';

export interface TapOptions {
  readonly plan: PickerPlan;
  /** Of those who listen: what is told of requests is enough for them, too. */
  readonly shadows?: readonly PickerPlan[] | undefined;
  readonly seed: number;
  readonly clock: Clock;
}

/** What a picker is made with, and wrapped in, so that others can be fed what it is fed. */
export interface Tap {
  readonly clock: EventClock;
  readonly wrapScheduler: (scheduler: Scheduler) => Scheduler;
  readonly wrapPicker: (picker: EndpointPicker) => EndpointPicker;
  /** The record that others begin with; with endpoints it says of them all that must be known. */
  head(file: number, endpoints?: readonly Endpoint[]): CaptureRecord;
  /** The lines that somebody who begins now must know first. */
  begin(endpoints: readonly Endpoint[]): Uint8Array;
  listen(sink: Sink): void;
  /** Lines are kept together before they are handed over: whoever is about to pass them on calls for what there is. */
  drain(): void;
}

/** Tenants are few and come again. */
const HASHES_MAX = 10_000;

export function startTap({ plan, shadows, seed, clock }: TapOptions): Tap {
  const lines = new CaptureLines();
  let config = plan.effective;
  const events = new EventClock(clock, (i, t) => lines.record({ e: 'timer', t, i }));
  const tap = new CaptureTap({ plan, shadows, clock: events, hash: secretHash(), lines });
  const head = (file: number, endpoints: readonly Endpoint[] = []): CaptureRecord => ({
    e: 'capture',
    version: CAPTURE_VERSION,
    seed,
    config,
    wallMs: clock.wallTime(),
    timers: events.timers,
    t: events.now(),
    file,
    ...(endpoints.length > 0 && { pool: poolOf(endpoints) }),
  });
  return {
    clock: events,
    wrapScheduler: (scheduler) => ({
      schedule: (endpoints, context) => {
        const result = scheduler.schedule(endpoints, context);
        tap.decided(result);
        return result;
      },
    }),
    wrapPicker: (picker) => {
      const wrapped = tapped(picker, tap);
      return {
        ...wrapped,
        adopt: (next) => {
          wrapped.adopt(next);
          config = next.effective;
        },
      };
    },
    head,
    begin(endpoints) {
      // What came before is in what is said of the endpoints, and not to be heard after it.
      lines.drain();
      const records = [head(0), ...poolOf(endpoints)];
      return utf8(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    },
    listen: (sink) => lines.listen(sink),
    drain: () => lines.drain(),
  };
}

function poolOf(endpoints: readonly Endpoint[]): readonly EndpointRecord[] {
  const records: EndpointRecord[] = [];
  CaptureTap.snapshot(endpoints, (record) => void records.push(record));
  return records;
}

/** With a secret that is never written: nobody can tell by trying who a fairness id is. */
function secretHash(): (text: string) => string {
  const secret = randomBytes(32);
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = createHmac('sha256', secret).update(text).digest('base64url').slice(0, 16);
    if (known.size >= HASHES_MAX) known.clear();
    known.set(text, made);
    return made;
  };
}
