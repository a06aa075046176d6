import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Bench } from 'tinybench';
import type { Endpoint, EndpointId } from '../src/framework/endpoint.ts';
import type { Routed, Usage } from '../src/framework/observer.ts';
import type { Filter, Picker, Scorer } from '../src/framework/scheduling.ts';
import { PickerMetrics } from '../src/journal/metrics/metrics.ts';
import { metricsSubscriber } from '../src/journal/metrics/metrics-subscriber.ts';
import { DURATION_SECONDS } from '../src/journal/metrics/page/bucket-bounds.ts';
import { timedPlugins } from '../src/journal/metrics/timed-plugins.ts';
import type { PluginUse } from '../src/picker/plan/instantiate.ts';
import type { PlannedPlugin } from '../src/picker/plan/picker-plan.ts';
import { nodeClock } from '../src/runtime/clock/node-clock.ts';
import { plainRequest } from './support/plain-request.ts';

/**
 * Measures the time that our metrics add to a request: `node bench/micro-metrics.ts`. The first two
 * rows are the whole cost; the third is the same number of observations with prom-client's classes.
 */

const endpoint: Endpoint = {
  id: 'a' as EndpointId,
  address: '127.0.0.1:8000',
  slot: 0,
  labels: new Map(),
  metrics: { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 },
  attribute: (key) => key.initial,
};
const request = plainRequest({});
const usage: Usage = { promptTokens: 1000, completionTokens: 200, cachedTokens: 512 };

const metrics = new PickerMetrics();
const subscriber = metricsSubscriber(metrics);
/** Five scorers, two filters and a picker that do nothing, and a decision with them. */
const clock = nodeClock();
const plugins = timedPlugins(metrics, clock);
const plugin = (name: string): PlannedPlugin =>
  ({ name, definition: { type: name } }) as PlannedPlugin;
const use: PluginUse = { profile: 'p', weight: 1 };
const nothing: Scorer & Filter & Picker = {
  score: () => [],
  filter: (endpoints) => endpoints,
  pick: (candidates) => candidates,
};
const scorers = ['a', 'b', 'c', 'd', 'e'].map((name) => plugins.scorer(plugin(name), nothing, use));
const filters = ['f', 'g'].map((name) => plugins.filter(plugin(name), nothing, use));
const picker = plugins.picker(plugin('p'), nothing, use);
const context = {
  request,
  now: 0,
  random: { next: () => 0, fork: () => context.random },
  get: () => undefined,
} as unknown as Parameters<Scorer['score']>[1];
function decide(): void {
  const startedAt = clock.now();
  for (const filter of filters) filter.filter([endpoint], context);
  for (const scorer of scorers) scorer.score([endpoint], context);
  const targets = picker.pick([{ endpoint, score: 1 }], context);
  const primary = { kind: 'picked', profile: 'p', targets } as const;
  subscriber.onDecision?.({
    number: 0,
    at: 0,
    request,
    options: {},
    candidates: [endpoint],
    context,
    decision: { primary, headers: new Map(), profiles: [primary] },
    error: undefined,
    refusedBy: undefined,
    heldBefore: undefined,
    crowdedOut: false,
    adoptionsAgo: 0,
    changesAgo: 0,
    expected: undefined,
    lostRequests: 0,
    besideTrial: 0,
    leftOut: undefined,
    faults: [],
    durationMs: clock.now() - startedAt,
  });
}

const registers = [new Registry()];
const labelNames = ['model_name', 'target_model_name', 'fairness_id', 'priority'];
const labels = {
  model_name: request.model,
  target_model_name: request.model,
  fairness_id: request.fairnessId,
  priority: 0,
};
const histograms = Array.from(
  { length: 16 },
  (_, index) =>
    new Histogram({
      name: `h${index}`,
      help: 'h',
      labelNames,
      buckets: [...DURATION_SECONDS],
      registers,
    }),
);
const counter = new Counter({ name: 'c', help: 'c', labelNames, registers });
const gauge = new Gauge({ name: 'g', help: 'g', labelNames, registers });

const bench = new Bench({ time: 1000, warmupTime: 300 })
  .add('one request: routed, first token, done', () => {
    const routed: Routed = {
      number: 0,
      request,
      endpoint,
      at: 0,
      cachedTokens: 500,
      load: { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 },
      firstTokenVisible: true,
    };
    subscriber.onRouted?.(routed);
    subscriber.onFirstToken?.(routed, 80);
    subscriber.onDone?.(routed, 2000, 'completed', usage);
  })
  .add('one decision: 8 plugins and the scheduler timed', () => {
    decide();
  })
  .add('the same with prom-client: 16 histograms, counter, gauge', () => {
    for (const histogram of histograms) histogram.observe(labels, 0.3);
    counter.inc(labels);
    gauge.inc(labels);
    gauge.dec(labels);
  })
  .add('the page: 1 model', async () => {
    await metrics.page();
  });

await bench.run();
console.table(
  bench.tasks.map((task) => {
    const { result } = task;
    const done = 'latency' in result ? result.latency : undefined;
    return { what: task.name, 'µs, median': done && Number((1000 * done.p50).toFixed(2)) };
  }),
);

/** Pages of many series: the time of one, and the longest time that the event loop stood still. */
async function measurePage(names: number, linesMax: number): Promise<object> {
  const many = new PickerMetrics({ linesMax });
  const observer = metricsSubscriber(many);
  for (let index = 0; index < names; index++) {
    const own = { ...request, model: `model-${index}`, fairnessId: `tenant-${index}` };
    const load = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
    const routed = { number: 0, request: own, endpoint, at: 0, cachedTokens: 0, load };
    observer.onRouted?.({ ...routed, firstTokenVisible: true });
    const open = { ...routed, firstTokenVisible: true };
    observer.onRouted?.(open);
    observer.onFirstToken?.(open, 80);
    observer.onDone?.(open, 2000, 'completed', usage, 9000);
  }
  await many.pageBytes();
  const PAGES = 10;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startedAt = clock.now();
  let bytes = 0;
  for (let page = 0; page < PAGES; page++) {
    bytes = (await many.pageBytes()).reduce((sum, chunk) => sum + chunk.length, 0);
  }
  const tookMs = clock.now() - startedAt;
  delay.disable();
  const atOnceAt = clock.now();
  await many.registry.metrics();
  const atOnceMs = clock.now() - atOnceAt;
  const lines = Buffer.concat(await many.pageBytes())
    .toString()
    .split('\n').length;
  return {
    names,
    lines,
    MB: Number((bytes / 1e6).toFixed(1)),
    'ms a page': Number((tookMs / PAGES).toFixed(0)),
    'at once, ms': Number(atOnceMs.toFixed(0)),
    // The histogram counts its own interval of 1 ms.
    'loop delay, p99 ms': Number((delay.percentile(99) / 1e6 - 1).toFixed(2)),
    'loop delay, max ms': Number((delay.max / 1e6 - 1).toFixed(2)),
  };
}
console.table([
  await measurePage(300, 200_000),
  await measurePage(2000, 200_000),
  await measurePage(2000, 1e9),
]);
