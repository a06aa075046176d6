import type { Registry } from 'prom-client';
import type { FollowRequest } from '../framework/following.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Clock } from '../framework/runtime.ts';
import { showMetric } from '../journal/metrics/page/family.ts';
import type { JournalSubscriber } from '../picker/events/journal.ts';
import type { LineWriter } from '../runtime/log/line-writer.ts';
import type { Log } from '../runtime/log/log.ts';
import { accessLine } from './requests/access-line.ts';
import { RequestFollower } from './requests/follow-requests.ts';
import { startTracing, type Tracing } from './tracing/start-tracing.ts';
import type { TracingPlan } from './tracing/tracing-plan.ts';

export interface TelemetryOptions {
  /** Undefined writes no traces. */
  readonly tracing?: TracingPlan | undefined;
  /** Undefined writes no access log. */
  readonly accessLog?: LineWriter | undefined;
  readonly version: string;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
}

/** What follows requests for traces and the access log. */
export interface Telemetry {
  readonly follow: FollowRequest;
  readonly subscriber: JournalSubscriber;
  readonly writesTraces: boolean;
  /** The id of the trace that is written for this request; undefined where none is. */
  traceIdOf(request: InferenceRequest): string | undefined;
  stop(): Promise<void>;
}

/** Undefined where neither traces nor an access log are asked for: then requests pay nothing. */
export async function startTelemetry(options: TelemetryOptions): Promise<Telemetry | undefined> {
  const { tracing: plan, accessLog, clock, registry, log } = options;
  if (plan === undefined && accessLog === undefined) return undefined;
  const tracing = plan && (await startTracing(plan, options));
  if (tracing !== undefined) registerSpans(registry, tracing);
  if (accessLog !== undefined) registerAccessLog(registry, accessLog);
  if (plan !== undefined) {
    const { url, protocol, ratio, byParent } = plan;
    log.info({ url, protocol, ratio, byParent }, 'traces are sent');
  }
  const follower = new RequestFollower({
    clock,
    beginTrace: tracing && ((head, proxy) => tracing.begin(head, proxy)),
    onClosed(record) {
      tracing?.write(record);
      accessLog?.write(accessLine(record, clock.wallTime()));
    },
  });
  return {
    follow: follower.follow,
    subscriber: follower,
    writesTraces: tracing !== undefined,
    traceIdOf: (request) => follower.traceIdOf(request),
    stop: async () => {
      await Promise.all([tracing?.stop(), accessLog?.end()]);
    },
  };
}

function registerSpans(registry: Registry, tracing: Tracing): void {
  const help = 'Spans of traces: exported, failed (the collector did not take them), or dropped.';
  showMetric(registry, { name: 'pointsman_trace_spans_total', help, type: 'counter' }, () =>
    Object.entries(tracing.counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
  );
}

function registerAccessLog(registry: Registry, accessLog: LineWriter): void {
  const name = 'pointsman_access_log_lines_left_out_total';
  const help = 'Lines of the access log that were left out, because the output was not read.';
  showMetric(registry, { name, help, type: 'counter' }, () => [
    { labels: {}, value: accessLog.leftOut },
  ]);
}
