import { messageOf } from '../../framework/error.ts';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import { Deadline } from '../../runtime/clock/deadline.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { RequestTrace } from '../requests/trace-context.ts';
import type { Phase } from './phases-of.ts';
import type { SpanWriter } from './span-writer.ts';
import type { TracingPlan } from './tracing-plan.ts';

/** How many spans went where since the start. */
export interface SpanCounts {
  readonly exported: number;
  /** The collector could not be reached, or refused them. */
  readonly failed: number;
  /** There was no room for them while others were sent. */
  readonly dropped: number;
}

export interface SpanExportOptions {
  readonly writer: Pick<SpanWriter, 'add' | 'spans' | 'take'>;
  /** Sends an `ExportTraceServiceRequest`. Rejects where the collector does not take it. */
  readonly send: (batch: Uint8Array) => Promise<void>;
  readonly batch: TracingPlan['batch'];
  readonly clock: Clock;
  readonly log: Log;
}

interface Batch {
  readonly bytes: Uint8Array;
  readonly spans: number;
}

/** For the last spans at the end. A collector that takes longer must not hold up the process. */
const STOP_MS: Millis = 3000;

/**
 * Sends spans in the background, one batch after the other. Without a collector, spans are counted
 * and thrown away: memory stays bounded, requests do not wait, and the log gets one line when it
 * begins and one when it ends.
 */
export class SpanExport {
  readonly #options: SpanExportOptions;
  /** Full batches. The first may be being sent. */
  readonly #batches: Batch[] = [];
  #sending = false;
  /** Runs out when the batch that is being written is sent although it is not full. */
  #delay: Timer | undefined;
  /** Spans that wait or are being sent. */
  #pending = 0;
  #exported = 0;
  #failed = 0;
  #dropped = 0;
  #failing = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: SpanExportOptions) {
    this.#options = options;
  }

  get counts(): SpanCounts {
    return { exported: this.#exported, failed: this.#failed, dropped: this.#dropped };
  }

  /** Takes all spans of a request, or none of them. */
  add(phases: readonly Phase[], trace: RequestTrace, originMs: Millis): void {
    const { writer, batch, clock } = this.#options;
    if (this.#pending + phases.length > batch.maxQueueSize) {
      this.#dropped += phases.length;
      return;
    }
    this.#pending += phases.length;
    writer.add(phases, trace, originMs);
    if (writer.spans >= batch.maxExportBatchSize) this.#close();
    else this.#delay ??= clock.setTimer(batch.scheduledDelayMillis, () => this.#close());
  }

  /** Sends what waits, for 3 s at most. Never rejects. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(STOP_MS, resolve);
      this.#onEmpty = () => {
        timer.cancel();
        resolve();
      };
      this.#close();
      this.#sendNext();
    });
  }

  /** Ends the batch that is being written. It is sent in a later turn, when no request waits. */
  #close(): void {
    const { writer, clock } = this.#options;
    this.#delay?.cancel();
    this.#delay = undefined;
    if (writer.spans === 0) return;
    const { spans } = writer;
    this.#batches.push({ spans, bytes: writer.take() });
    clock.setTimer(0, () => this.#sendNext());
  }

  #sendNext(): void {
    if (this.#sending) return;
    const batch = this.#batches.shift();
    if (batch === undefined) {
      this.#onEmpty?.();
      return;
    }
    this.#sending = true;
    const { send, clock, batch: limits } = this.#options;
    let over = false;
    const ended = (error?: unknown): void => {
      if (over) return;
      over = true;
      deadline.stop();
      this.#sending = false;
      this.#ended(batch, error);
      this.#sendNext();
    };
    const timeoutMs = limits.exportTimeoutMillis;
    const late = (): void =>
      ended(new Error(`the collector did not answer within ${timeoutMs} ms`));
    const deadline = new Deadline(clock, timeoutMs, late);
    deadline.restart();
    send(batch.bytes).then(
      () => ended(),
      (error: unknown) => ended(error ?? 'no reason was given'),
    );
  }

  #ended({ spans }: Batch, error: unknown): void {
    this.#pending -= spans;
    if (error === undefined) this.#exported += spans;
    else this.#failed += spans;
    const { log } = this.#options;
    if (error !== undefined && !this.#failing) {
      this.#failing = true;
      const reason = messageOf(error);
      log.warn({ reason }, 'traces cannot be sent: spans are counted and thrown away');
    } else if (error === undefined && this.#failing) {
      this.#failing = false;
      const { failed, dropped } = this.counts;
      log.info({ failed, dropped }, 'traces are sent again');
    }
  }
}
