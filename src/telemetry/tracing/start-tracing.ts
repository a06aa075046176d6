import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { FollowedHead } from '../../framework/following.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log/log.ts';
import { needPackages } from '../../runtime/need-packages.ts';
import { hasFailed, type RequestRecord } from '../requests/request-record.ts';
import type { RequestTrace } from '../requests/trace-context.ts';
import { beginTrace } from './request-tracer.ts';
import { type SpanCounts, SpanExport } from './span-export.ts';
import { type SpanMaker, spansOf } from './spans-of.ts';
import type { TracingPlan } from './tracing-plan.ts';

export interface Tracing {
  readonly counts: SpanCounts;
  begin(head: FollowedHead, proxy: string | undefined): RequestTrace;
  /** Writes the spans of a request that is over, if they are to be written. */
  write(record: RequestRecord): void;
  /** Sends what waits, for 3 s at most. */
  stop(): Promise<void>;
}

/** Name of the instrumentation and, unless the environment has one, of the service. */
const SCOPE = 'pointsman';
/** Failed requests whose trace is not sampled get one at most so often in a second. */
const FAILURES_PER_SECOND_MAX = 50;

/** Loads OpenTelemetry and starts to send traces. Nothing of it is loaded without tracing. */
export async function startTracing(
  plan: TracingPlan,
  { clock, log, version }: { readonly clock: Clock; readonly log: Log; readonly version: string },
): Promise<Tracing> {
  needPackages('--tracing', [
    '@opentelemetry/sdk-trace-base',
    '@opentelemetry/api',
    '@opentelemetry/resources',
    `@opentelemetry/exporter-trace-otlp-${plan.protocol === 'grpc' ? 'grpc' : 'proto'}`,
  ]);
  const { BatchSpanProcessor, RandomIdGenerator, TraceIdRatioBasedSampler } = await import(
    '@opentelemetry/sdk-trace-base'
  );
  const { createTraceState } = await import('@opentelemetry/api');
  const sampler = new TraceIdRatioBasedSampler(plan.ratio);
  const sampling = {
    byParent: plan.byParent,
    samples: (traceId: string) => sampler.shouldSample(undefined, traceId).decision === RECORDED,
  };
  const ids = new RandomIdGenerator();
  const spans = new SpanExport({
    exporter: await exporterOf(plan),
    batched: (exporter) => new BatchSpanProcessor(exporter, plan.batch),
    spansMax: plan.batch.maxQueueSize,
    clock,
    log,
  });
  const resource = await resourceOf(version);
  const maker = {
    resource,
    scope: { name: SCOPE, version },
    newSpanId: () => ids.generateSpanId(),
    parseTraceState: createTraceState,
  };
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
      spans.add(spansOf(record, trace, { ...maker, originMs: clock.wallTime() - clock.now() }));
    },
    stop: () => spans.stop(),
  };
}

/** `SamplingDecision.RECORD_AND_SAMPLED`. */
const RECORDED = 2;

async function exporterOf({ protocol, url }: TracingPlan): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'grpc'
      ? await import('@opentelemetry/exporter-trace-otlp-grpc')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter({ url });
}

/** What the environment says of the service counts more than what it says of itself. */
async function resourceOf(version: string): Promise<SpanMaker['resource']> {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await import(
    '@opentelemetry/resources'
  );
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SCOPE, 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));
}

/** Lets so many through in each second. */
class PerSecond {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #max: number;
  #since = Number.NEGATIVE_INFINITY;
  #taken = 0;

  constructor(clock: Pick<Clock, 'now'>, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  take(): boolean {
    const now = this.#clock.now();
    if (now - this.#since >= 1000) {
      this.#since = now;
      this.#taken = 0;
    }
    this.#taken += 1;
    return this.#taken <= this.#max;
  }
}
