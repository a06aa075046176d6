import type { Clock } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log/log.ts';
import { needPackages } from '../../runtime/need-packages.ts';
import { randomSeed } from '../../runtime/random-seed.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { otlpSender } from './otlp-sender.ts';
import type { Sampling } from './request-tracer.ts';
import { SpanExport } from './span-export.ts';
import { SpanWriter } from './span-writer.ts';
import { sampledShare, TraceIds } from './trace-ids.ts';
import type { TracingPlan } from './tracing-plan.ts';

export interface TracingSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
}

/** All that it takes to begin traces and to send their spans. */
interface OpenTracing {
  readonly spans: SpanExport;
  readonly ids: TraceIds;
  readonly sampling: Sampling;
  /** Sends what waits, for 3 s at most. */
  readonly stop: () => Promise<void>;
}

/** Name of the instrumentation and, unless the environment has one, of the service. */
const SCOPE = 'pointsman';

/** Loads OpenTelemetry and starts to send spans. Nothing of it is loaded without tracing. */
export async function openTracing(
  plan: TracingPlan,
  { clock, log, version }: TracingSurroundings,
): Promise<OpenTracing> {
  needPackages('--tracing', [
    '@opentelemetry/api',
    '@opentelemetry/resources',
    plan.protocol === 'grpc'
      ? '@opentelemetry/otlp-grpc-exporter-base'
      : '@opentelemetry/otlp-exporter-base',
  ]);
  // It is not the seed of decisions: processes with the same seed would make the same ids.
  const ids = new TraceIds(seededRandom(randomSeed()));
  const sampling = { byParent: plan.byParent, samples: sampledShare(plan.ratio) };
  const scope = { name: SCOPE, version };
  const sender = await otlpSender(plan, clock);
  const { batch } = plan;
  const writer = new SpanWriter({ resource: await resourceOf(version), scope, ids });
  const spans = new SpanExport({ writer, send: (bytes) => sender.send(bytes), batch, clock, log });
  const stop = async (): Promise<void> => {
    await spans.stop();
    // A collector that does not answer is not waited for again.
    void sender.stop();
  };
  return { spans, ids, sampling, stop };
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
