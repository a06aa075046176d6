import type { FollowedHead } from '../../framework/following.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log/log.ts';
import { needPackages } from '../../runtime/need-packages.ts';
import { randomSeed } from '../../runtime/random-seed.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { hasFailed, type RequestRecord } from '../requests/request-record.ts';
import type { RequestTrace } from '../requests/trace-context.ts';
import { otlpSender } from './otlp-sender.ts';
import { phasesOf } from './phases-of.ts';
import { beginTrace } from './request-tracer.ts';
import { type SpanCounts, SpanExport } from './span-export.ts';
import { SpanWriter } from './span-writer.ts';
import { sampledShare, TraceIds } from './trace-ids.ts';
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
    '@opentelemetry/api',
    '@opentelemetry/resources',
    plan.protocol === 'grpc'
      ? '@opentelemetry/otlp-grpc-exporter-base'
      : '@opentelemetry/otlp-exporter-base',
  ]);
  // Not the seed of decisions: pickers with the same one would make the same ids.
  const ids = new TraceIds(seededRandom(randomSeed()));
  const sampling = { byParent: plan.byParent, samples: sampledShare(plan.ratio) };
  const scope = { name: SCOPE, version };
  const sender = await otlpSender(plan);
  const { batch } = plan;
  const writer = new SpanWriter({ resource: await resourceOf(version), scope, ids });
  const spans = new SpanExport({ writer, send: (bytes) => sender.send(bytes), batch, clock, log });
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
    stop: async () => {
      await spans.stop();
      // A collector that does not answer is not waited for again.
      void sender.stop();
    },
  };
}

/** What the environment says of the service counts more than what it says of itself. */
async function resourceOf(version: string): Promise<ReadonlyMap<string, string>> {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await import(
    '@opentelemetry/resources'
  );
  const { attributes } = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SCOPE, 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));
  return new Map(Object.entries(attributes).map(([name, value]) => [name, String(value)]));
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
