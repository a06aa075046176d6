import type { Clock, Millis } from '../../framework/runtime.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { Workload } from '../traces/workload.ts';
import type { PreparedRequest, SendRequest, Sent } from './sent-request.ts';
import type { TimeHistogram } from './time-histogram.ts';

export interface OpenLoopOptions {
  readonly clock: Clock;
  /** Open in any case towards the target; turns of one conversation may wait for each other. */
  readonly workload: Workload;
  /** `index` counts requests in the order they are sent, from 0. */
  readonly prepare: (request: TraceRequest, index: number) => PreparedRequest;
  readonly send: SendRequest;
  /** Answers under way at once. What is due beyond that is not sent, and counted. */
  readonly concurrencyMax: number;
  /** An answer that takes longer from when it was due is given up. */
  readonly timeoutMs: Millis;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly due: number;
  readonly underWay: number;
  readonly failed: number;
}

export interface OpenLoopResult {
  /** Those that were due, in the order they became so. */
  readonly sent: readonly Sent[];
  readonly underWayMax: number;
  /** Between the arrivals of an answer's tokens. */
  readonly tokenGaps: TimeHistogram;
  readonly durationMs: Millis;
  /** Before all were due. */
  readonly stopped: boolean;
}
