import { packageVersion } from '../../files/folders.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import type { FlowRecord } from '../../journal/explain/last-flow-stays.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PromotedShadow } from '../../promotion/promotion.ts';
import type { WaitingParts } from '../admin/describe-waiting.ts';
import { latestDecisions } from './latest-decisions.ts';
import { type LiveCounts, STEP_MS } from './live-counts.ts';
import type { LiveHealth, LiveMessage, LivePicker, LivePool, LiveRefusal } from './live-message.ts';
import { liveWaiting } from './live-waiting.ts';
import { poolRows } from './pool-rows.ts';
import type { MessageSource } from './viewers.ts';

/** At most so many endpoints are sent in a second: 100 KB. */
const ROWS_PER_SECOND = 500;
/** Labels seldom change. */
const LABELS_EVERY_MS: Millis = 30_000;

/** Refusals by flow control that are shown. */
const REFUSED_SHOWN = 5;
const REFUSED_AGE_MS: Millis = 600_000;

export interface LiveSourceParts {
  readonly picker: EndpointPicker;
  /** Has what waits for flow control. */
  readonly router?: WaitingParts['router'];
  readonly counts: LiveCounts;
  readonly recorder: DecisionRecorder | undefined;
  readonly clock: Clock;
  readonly viewers: () => number;
  /** What `/readyz` says. */
  readonly health: () => LiveHealth;
  /** The shadow that decides a part of the requests or all. */
  readonly promoted?: () => PromotedShadow | undefined;
  readonly about: Omit<LivePicker, 'version' | 'stepMs' | 'startedMs' | 'explains'>;
}

/** Makes the messages of the live page from what the picker knows. */
export class LiveSource implements MessageSource {
  readonly #parts: LiveSourceParts;
  #nextStep = 0;
  #nextDecision = 0;
  #poolAt: Millis = Number.NEGATIVE_INFINITY;
  #labelsAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(parts: LiveSourceParts) {
    this.#parts = parts;
  }

  begin(): void {
    const { counts, clock, recorder } = this.#parts;
    counts.picks.watch();
    this.#nextStep = counts.step;
    this.#nextDecision = recorder === undefined ? 0 : recorder.ring.next;
    this.#poolAt = clock.now();
  }

  end(): void {
    this.#parts.counts.picks.unwatch();
  }

  first(): LiveMessage {
    const { counts, recorder, about } = this.#parts;
    const explains = recorder !== undefined;
    return {
      ...this.#frame(),
      picker: {
        version: packageVersion(),
        stepMs: STEP_MS,
        startedMs: counts.startedMs,
        explains,
        ...about,
      },
      steps: counts.ended(0),
      pool: this.#pool('with-labels'),
      decisions: { made: 0, shown: this.#shown(0).shown },
    };
  }

  next(): LiveMessage {
    const { counts, picker, clock } = this.#parts;
    const steps = counts.ended(this.#nextStep);
    this.#nextStep = counts.step;
    const before = this.#nextDecision;
    const { next, shown } = this.#shown(before);
    this.#nextDecision = next;
    const now = clock.now();
    const pause = (1000 * Math.min(1000, picker.pool.snapshot().length)) / ROWS_PER_SECOND;
    const isDue = now - this.#poolAt >= pause;
    const labelsDue = now - this.#labelsAt >= LABELS_EVERY_MS;
    return {
      ...this.#frame(),
      steps,
      ...(isDue && { pool: this.#pool(labelsDue ? 'with-labels' : 'without') }),
      decisions: { made: next - before, shown },
    };
  }

  #frame(): Omit<LiveMessage, 'picker' | 'steps' | 'pool' | 'decisions'> {
    const { picker, clock, viewers } = this.#parts;
    const waiting = liveWaiting(this.#parts, clock.now());
    const promoted = this.#parts.promoted?.();
    const { state, reasons } = this.#parts.health();
    const endpoints = picker.pool.snapshot();
    const { ledger } = picker;
    const inFlight = endpoints.reduce(
      (sum, each) => sum + ledger.load(each).requests + ledger.lost(each),
      0,
    );
    return {
      wallMs: Math.round(clock.wallTime()),
      totals: {
        endpoints: endpoints.length,
        inFlight,
        waiting: waiting?.requests ?? 0,
        viewers: viewers(),
      },
      health: { state, reasons },
      ...(promoted !== undefined && { promoted }),
      ...this.#refused(),
      ...(waiting !== undefined && { waiting }),
    };
  }

  #refused(): Pick<LiveMessage, 'refused'> {
    const { recorder, clock } = this.#parts;
    const since = clock.wallTime() - REFUSED_AGE_MS;
    const refused = recorder?.stays.refusedSince(since, REFUSED_SHOWN) ?? [];
    return refused.length === 0 ? {} : { refused: refused.flatMap(refusalOf) };
  }

  #pool(which: 'with-labels' | 'without'): LivePool {
    const { picker, counts, clock } = this.#parts;
    const now = clock.now();
    this.#poolAt = now;
    const labels = which === 'with-labels';
    if (labels) this.#labelsAt = now;
    return poolRows(picker, counts.hits, { now, labels });
  }

  #shown(from: number): ReturnType<typeof latestDecisions> {
    const { recorder, counts } = this.#parts;
    return recorder === undefined
      ? { next: 0, shown: [] }
      : latestDecisions(recorder, counts.picks, from);
  }
}

function refusalOf({ id, requestId, wallMs, flowControl }: FlowRecord): readonly LiveRefusal[] {
  const { priority, fairnessId, waitedMs, left } = flowControl;
  if (left?.kind !== 'refused') return [];
  const { status, why } = left;
  return [{ requestId: requestId || id, wallMs, priority, fairnessId, waitedMs, status, why }];
}
