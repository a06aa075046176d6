import type { Endpoint, EndpointId } from '../src/framework/endpoint.ts';
import type { Routed } from '../src/framework/observer.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import type { DecisionEvent } from '../src/picker/events/journal.ts';
import { nodeClock } from '../src/runtime/clock/node-clock.ts';
import { createLog } from '../src/runtime/log/log.ts';
import { RequestFollower } from '../src/telemetry/requests/follow-requests.ts';
import { startTracing } from '../src/telemetry/tracing/start-tracing.ts';
import { planTracing } from '../src/telemetry/tracing/tracing-plan.ts';
import { plainRequest } from './support/plain-request.ts';

/**
 * Measures the CPU that traces add to a request, sending them included: `node
 * bench/micro-tracing.ts` with a collector at localhost:4317. The shares of requests that are
 * written are measured in turn.
 */

const REQUESTS = 40_000;
/** Requests between two turns of the event loop, as many as come at once under load. */
const AT_ONCE = 16;
const ROUNDS = 5;
const RATIOS = [0, 0.1, 1];

const endpoints = Array.from(
  { length: 8 },
  (_, n): Endpoint => ({
    id: `default/pod-${n}` as EndpointId,
    address: `10.0.0.${n}:8000`,
    slot: n,
    labels: new Map(),
    metrics: { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 },
    attribute: (key) => key.initial,
  }),
);
const headers = new Map([
  ['x-request-id', 'c0ffee'],
  [':path', '/v1/chat/completions'],
]);

function requestOf(n: number): InferenceRequest {
  return plainRequest({ id: `r-${n}`, headers });
}

/** CPU microseconds a request; undefined measures the loop alone. */
async function measure(ratio: number | undefined): Promise<number> {
  const clock = nodeClock();
  const plan = planTracing({ OTEL_TRACES_SAMPLER_ARG: String(ratio ?? 0) });
  if (plan === undefined) throw new Error('traces are switched off');
  const tracing = await startTracing(plan, { clock, log: createLog('warn'), version: 'bench' });
  const follower = new RequestFollower({
    clock,
    beginTrace: (head, proxy) => tracing.begin(head, proxy),
    onClosed: (record) => tracing.write(record),
  });
  const [endpoint] = endpoints;
  if (endpoint === undefined) throw new Error('there is no endpoint');
  const targets = endpoints.map((each) => ({ endpoint: each, score: 0.5 }));
  const primary = { kind: 'picked', profile: 'default', targets } as const;
  const decision = { primary, profiles: [primary], headers: new Map<string, string>() };
  const usage = { promptTokens: 1000, completionTokens: 100, cachedTokens: 0 };
  const before = process.cpuUsage();
  for (let n = 0; n < REQUESTS; n++) {
    const request = requestOf(n);
    if (ratio !== undefined) {
      const followed = follower.follow({ id: request.id, headers }, undefined);
      followed.bodyRead(request);
      const event = { number: n, request, candidates: endpoints, decision, durationMs: 0.05 };
      follower.onDecision(event as unknown as DecisionEvent);
      const routed = { number: n, request, endpoint, cachedTokens: 0 } as Routed;
      follower.onRouted(routed);
      if (followed.traceparent === '') throw new Error('no traceparent');
      follower.onFirstToken(routed);
      follower.onEnded(routed, 0, 'completed', usage, 2000);
      followed.closed(200);
    }
    if (n % AT_ONCE === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await tracing.stop();
  const { user, system } = process.cpuUsage(before);
  if (ratio !== undefined) process.stderr.write(`${ratio}: ${JSON.stringify(tracing.counts)}\n`);
  return (user + system) / REQUESTS;
}

const rows = new Map<number, number[]>(RATIOS.map((ratio) => [ratio, []]));
await measure(0.1);
for (let round = 0; round < ROUNDS; round++) {
  const alone = await measure(undefined);
  for (const [ratio, costs] of rows) costs.push((await measure(ratio)) - alone);
}
for (const [ratio, costs] of rows) {
  const ordered = costs.toSorted((a, b) => a - b);
  const median = ordered[Math.floor(ROUNDS / 2)] ?? 0;
  const range = `${ordered[0]?.toFixed(2)} to ${ordered.at(-1)?.toFixed(2)}`;
  process.stdout.write(`${ratio * 100} % written: ${median.toFixed(2)} µs a request (${range})\n`);
}
