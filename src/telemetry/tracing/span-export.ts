import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { messageOf } from '../../framework/error.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log/log.ts';

/** How many spans went where since the start. */
export interface SpanCounts {
  readonly exported: number;
  /** The collector could not be reached, or refused them. */
  readonly failed: number;
  /** There was no room for them while others were sent. */
  readonly dropped: number;
}

export interface SpanExportOptions {
  readonly exporter: SpanExporter;
  /** Batches what it is given and passes it to this exporter. */
  readonly batched: (exporter: SpanExporter) => SpanProcessor;
  /** Spans that wait or are being sent, at most. */
  readonly spansMax: number;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly log: Log;
}

/** For the last spans at the end. A collector that takes longer must not hold up the process. */
const STOP_MS: Millis = 3000;

/**
 * Sends spans in the background. Without a collector, spans are counted and thrown away: memory
 * stays bounded, requests do not wait, and the log gets one line when it begins and one when it
 * ends.
 */
export class SpanExport {
  readonly #processor: SpanProcessor;
  readonly #exporter: SpanExporter;
  readonly #spansMax: number;
  readonly #clock: SpanExportOptions['clock'];
  readonly #log: Log;
  /** Given to the processor, and not yet sent or failed. */
  #pending = 0;
  #exported = 0;
  #failed = 0;
  #dropped = 0;
  #failing = false;

  constructor({ exporter, batched, spansMax, clock, log }: SpanExportOptions) {
    this.#exporter = exporter;
    this.#clock = clock;
    this.#spansMax = spansMax;
    this.#log = log;
    this.#processor = batched({
      export: (spans, done) => this.#send(spans, done),
      shutdown: () => exporter.shutdown(),
    });
  }

  get counts(): SpanCounts {
    return { exported: this.#exported, failed: this.#failed, dropped: this.#dropped };
  }

  /** Takes all spans of a request, or none of them. */
  add(spans: readonly ReadableSpan[]): void {
    if (this.#pending + spans.length > this.#spansMax) {
      this.#dropped += spans.length;
      return;
    }
    this.#pending += spans.length;
    for (const span of spans) this.#processor.onEnd(span);
  }

  /** Sends what waits, for 3 s at most. Never rejects. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(STOP_MS, resolve);
      const ended = (): void => {
        timer.cancel();
        resolve();
      };
      // `#send` has counted and logged a failure.
      this.#processor.shutdown().then(ended, ended);
    });
  }

  #send(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.#exporter.export(spans, (result) => {
      this.#pending -= spans.length;
      if (result.code === EXPORTED) this.#exported += spans.length;
      else this.#failed += spans.length;
      this.#note(result.code === EXPORTED ? undefined : (result.error ?? 'no reason was given'));
      done(result);
    });
  }

  #note(error: unknown): void {
    if (error !== undefined && !this.#failing) {
      this.#failing = true;
      const reason = messageOf(error);
      this.#log.warn({ reason }, 'traces cannot be sent: spans are counted and thrown away');
    } else if (error === undefined && this.#failing) {
      this.#failing = false;
      const { failed, dropped } = this.counts;
      this.#log.info({ failed, dropped }, 'traces are sent again');
    }
  }
}

/** `ExportResultCode.SUCCESS`. */
const EXPORTED = 0;
