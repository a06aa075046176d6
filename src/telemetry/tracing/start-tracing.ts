import type { FollowedHead } from '../../framework/following.ts';
import { PerSecond } from '../../runtime/clock/per-second.ts';
import { hasFailed, type RequestRecord } from '../requests/request-record.ts';
import type { RequestTrace } from '../requests/trace-context.ts';
import { openTracing, type TracingSurroundings } from './open-tracing.ts';
import { phasesOf } from './phases-of.ts';
import { beginTrace } from './request-tracer.ts';
import type { SpanCounts } from './span-export.ts';
import type { TracingPlan } from './tracing-plan.ts';

export interface Tracing {
  readonly counts: SpanCounts;
  begin(head: FollowedHead, proxy: string | undefined): RequestTrace;
  /** Writes the spans of a request that is over, if they are to be written. */
  write(record: RequestRecord): void;
  /** Sends what waits, for 3 s at most. */
  stop(): Promise<void>;
}

/** Failed requests whose trace is not sampled get one at most so often in a second. */
const FAILURES_PER_SECOND_MAX = 50;

/** Starts to send traces of the requests that a picker decides. */
export async function startTracing(
  plan: TracingPlan,
  surroundings: TracingSurroundings,
): Promise<Tracing> {
  const { clock } = surroundings;
  const { spans, ids, sampling, stop } = await openTracing(plan, surroundings);
  const failures = new PerSecond(clock, FAILURES_PER_SECOND_MAX);
  return {
    get counts() {
      return spans.counts;
    },
    begin: (head, proxy) => beginTrace(head, proxy, { ids, sampling }),
    write(record) {
      const { trace } = record;
      if (trace === undefined) return;
      if (!trace.sampled && !(hasFailed(record) && failures.take())) return;
      spans.add(phasesOf(record), trace, clock.wallTime() - clock.now());
    },
    stop,
  };
}
