import { readingOfPlan } from '../../../src/catalogue/reading-of-plan.ts';
import { eventReport } from '../../../src/endpoints/kv-events/event-report.ts';
import type { EndpointId } from '../../../src/framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../../src/framework/endpoint-attributes.ts';
import { RoutingError } from '../../../src/framework/error.ts';
import type { Usage } from '../../../src/framework/observer.ts';
import type { InferenceRequest } from '../../../src/framework/request.ts';
import type { Placement, RoutedRequest } from '../../../src/framework/routing.ts';
import { LatencySubscriber } from '../../../src/journal/metrics/answers/latency-metrics.ts';
import { predictionSubscriber } from '../../../src/journal/metrics/answers/prediction-metrics.ts';
import { disaggregationSubscriber } from '../../../src/journal/metrics/decisions/disaggregation-metrics.ts';
import { filterSubscriber } from '../../../src/journal/metrics/decisions/filter-metrics.ts';
import { PickerMetrics } from '../../../src/journal/metrics/metrics.ts';
import { metricsSubscriber } from '../../../src/journal/metrics/metrics-subscriber.ts';
import { registerInFlight } from '../../../src/journal/metrics/pool/inflight-metrics.ts';
import { registerKvEventMetrics } from '../../../src/journal/metrics/pool/kv-event-metrics.ts';
import { registerMediaMetrics } from '../../../src/journal/metrics/pool/media-metrics.ts';
import { registerRollouts } from '../../../src/journal/metrics/pool/rollout-metrics.ts';
import { FlowControlMetrics } from '../../../src/journal/metrics/waiting/flow-control-metrics.ts';
import { createOpenBody } from '../../../src/openai/parsers/open-body.ts';
import { requestIdentity } from '../../../src/openai/request-identity.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import { ControlledRouter } from '../../../src/picker/flow-control/controlled-router.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { Registry } from '../../../src/runtime/prom-client.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { type DrawnRequest, drawnRequests } from './drawn-requests.ts';
import { DrawnServers } from './drawn-servers.ts';

const SEED = 20_260_214;
const REQUESTS = 60;
const SPAN_MS = 12_000;
const ENDPOINTS = 6;
const SAMPLE_MS = 500;
/** For a while one server fails all that it gets, and another one is slow to begin. */
const TROUBLE = {
  from: 2000,
  until: 7000,
  failing: '10.0.0.4:8000',
  stalling: '10.0.0.3:8000',
  stallMs: 6000,
};

/** What labels the endpoints of the pool have, by their numbers. */
function labelsOf(number: number): Readonly<Record<string, string>> {
  const revision = ['a', 'b'][number % 2] ?? '';
  const role = ['decode', 'prefill', 'both', 'decode', 'encode', 'prefill'][number % 6] ?? '';
  return {
    'llm-d.ai/role': role,
    'llm-d.ai/engine-type': number === 5 ? 'sglang' : 'vllm',
    engine: number % 2 === 0 ? 'sglang' : 'vllm',
    'kubernetes.io/hostname': `h${number % 3}`,
    'topology.kubernetes.io/rack': `k${number % 3}`,
    'topology.kubernetes.io/block': `b${number % 3}`,
    'topology.kubernetes.io/zone': `z${number % 2}`,
    'topology.kubernetes.io/region': `r${number % 2}`,
    'disaggregatedset.x-k8s.io/revision': revision,
    'disaggregatedset.x-k8s.io/role': number < 4 ? 'decode' : 'prefill',
    revision: number < 3 ? 'a' : 'b',
    part: number % 2 === 0 ? 'decode' : 'other',
    set: '1',
    place: `h${number % 4}`,
    gpu: String(1 + (number % 3)),
    class: number % 2 === 0 ? 'short' : 'long',
    limit: String(1 + number),
  };
}

/** What users of a picker see. */
export interface Seen {
  /** What became of each request, what servers were asked, and the loads in between. */
  readonly happened: readonly string[];
  /** The page of metrics after all that. */
  readonly page: () => Promise<string>;
}

/** All that users of a picker can see of it in one drawn situation. */
class WholePicker {
  readonly seen: string[] = [];
  readonly clock: SimulatedClock = new SimulatedClock();
  readonly servers: DrawnServers = new DrawnServers(this.clock);
  readonly metrics: PickerMetrics = new PickerMetrics();
  readonly #random = seededRandom(SEED);
  readonly #loads = new Registry();
  readonly #router: ControlledRouter;
  readonly #picker: EndpointPicker;
  readonly #identify: ReturnType<typeof requestIdentity>;
  readonly #openBody: ReturnType<typeof createOpenBody>;

  constructor(plan: PickerPlan) {
    const { clock, metrics } = this;
    const { registry } = metrics;
    const measured = new FlowControlMetrics({ metrics, poolName: 'p', stopwatch: clock }).wrap;
    this.#router = new ControlledRouter({ clock, measured });
    this.#picker = new EndpointPicker({
      plan,
      runtime: { clock, random: seededRandom(SEED), network: this.servers.network },
      subscribers: [
        metricsSubscriber(metrics),
        disaggregationSubscriber(metrics, plan),
        filterSubscriber(metrics, plan),
        predictionSubscriber(metrics),
        new LatencySubscriber(metrics, plan),
        this.#router.observer,
      ],
      onEjection: ({ endpoint, ejected }) => this.#saw(`${endpoint.id} ejected ${ejected?.reason}`),
      onFault: ({ error }) => {
        throw error;
      },
    });
    this.#router.attach(this.#picker);
    this.#router.configure(plan.flowControl);
    const snapshot = () => this.#picker.pool.snapshot();
    registerInFlight(this.#loads, () => metrics.open.values(), snapshot);
    metrics.observePrefixIndexes(this.#picker, snapshot);
    registerRollouts(registry, () => this.#picker.observers());
    registerMediaMetrics(registry, () => this.#picker.observers());
    registerKvEventMetrics(registry, () => eventReport(this.#picker.observers(), snapshot()));
    this.#identify = requestIdentity({
      plugins: () => this.#picker.observers(),
      onFault: (_plugin, error) => {
        throw error;
      },
    });
    const prompts = readingOfPlan(plan);
    this.#openBody = createOpenBody({
      bodyBytesMax: 1e7,
      hashSeed: 1,
      parsers: () => plan.parsers ?? [],
      prompts: () => prompts,
    });
  }

  async run(scraped: boolean): Promise<Seen> {
    const { pool } = this.#picker;
    for (let number = 0; number < ENDPOINTS; number++) {
      const labels = new Map(Object.entries(labelsOf(number)));
      const id = `10.0.0.${number}:8000` as EndpointId;
      pool.upsert({ id, address: id, labels });
      if (!scraped) pool.set(id, CACHE_CONFIG, { blockTokens: 128, blocks: 8 + number });
    }
    if (!scraped) this.#sampleEach(0);
    for (let at = 0; at < 3; at++) this.clock.setTimer(1000 * at, () => this.servers.publish(at));
    const requests = drawnRequests(SEED, REQUESTS, SPAN_MS);
    for (const request of requests) this.clock.setTimer(request.at, () => this.#send(request));
    for (const at of [0.2, 0.4, 0.6, 0.8]) {
      await this.clock.run(SPAN_MS * at);
      this.seen.push(await this.#loads.metrics());
    }
    // What is scraped costs the most: the last requests need not end there.
    await this.clock.run(SPAN_MS * (scraped ? 1.2 : 3));
    this.#picker.stop();
    return { happened: [...this.seen, ...this.servers.asked], page: () => this.metrics.page() };
  }

  #saw(line: string): void {
    this.seen.push(`${Math.round(this.clock.now())} ${line}`);
  }

  /** Samples of every endpoint, and again after a while. */
  #sampleEach(turn: number): void {
    for (const [number, { id }] of this.#picker.pool.snapshot().entries()) {
      const vary = (by: number): number => (number * by + turn * 3) % 10;
      this.#picker.pool.observe(id, {
        waitingQueueSize: vary(7),
        runningRequests: vary(3),
        kvCacheUsage: vary(1) / 10,
        sampledAt: this.clock.now(),
      });
      const running = new Set(number % 2 === 0 ? ['adapter'] : []);
      this.#picker.pool.set(id, LORA, { running, waiting: new Set<string>(), max: 2 });
    }
    if (turn * SAMPLE_MS < SPAN_MS) {
      this.clock.setTimer(SAMPLE_MS, () => this.#sampleEach(turn + 1));
    }
  }

  #send(drawn: DrawnRequest): void {
    const { id, path, body, priority } = drawn;
    const { headers } = this.#identify({ id, path, headers: drawn.headers });
    const bytes = new TextEncoder().encode(body);
    const reader = this.#openBody({ id, path, headers });
    reader.push(bytes);
    const request: InferenceRequest = { ...reader.end(), priority };
    const placement: Placement = {
      placed: (routed) => this.#placed(drawn, routed),
      refused: (error) => this.#refused(id, error),
    };
    const options = { firstTokenVisible: true, scoresWanted: true };
    const orRefused = (step: () => void): void => {
      try {
        step();
      } catch (error) {
        placement.refused(error);
      }
    };
    const ready = (): void =>
      orRefused(() => {
        const { enqueue } = this.#router;
        const routed =
          enqueue === undefined
            ? this.#router.route(request, options)
            : enqueue(request, options, placement);
        if (routed !== undefined) placement.placed(routed);
      });
    const refuse = (error: RoutingError): void => placement.refused(error);
    orRefused(() => {
      if (this.#router.prepare?.(request, [bytes], ready, { refuse }) !== true) ready();
    });
  }

  #refused(id: string, error: unknown): void {
    if (!(error instanceof RoutingError)) throw error;
    this.#saw(`${id} refused ${error.code}`);
  }

  #placed(drawn: DrawnRequest, routed: RoutedRequest): void {
    const { headers, destinations, endpoint } = routed;
    this.#saw(`${drawn.id} to ${destinations.join(',')} with ${JSON.stringify([...headers])}`);
    const isAtOnce = (of: string): boolean =>
      endpoint.id === of && this.clock.now() > TROUBLE.from && this.clock.now() < TROUBLE.until;
    const fails = drawn.fails || isAtOnce(TROUBLE.failing);
    const firstTokenMs = drawn.firstTokenMs + (isAtOnce(TROUBLE.stalling) ? TROUBLE.stallMs : 0);
    this.clock.setTimer(firstTokenMs, () => {
      routed.served(endpoint.address);
      const set = JSON.stringify([...routed.responseHeaders()]);
      this.#saw(`${drawn.id} answered with ${set}`);
      if (!fails) routed.firstToken();
    });
    this.clock.setTimer(firstTokenMs + (fails ? 0 : drawn.runsMs), () => {
      const usage: Usage = {
        promptTokens: routed.request.promptTokens,
        completionTokens: drawn.outputTokens,
        cachedTokens: Math.floor(this.#random.next() * 64),
      };
      const reported = routed.responseMetadata?.(usage) ?? [];
      this.#saw(`${drawn.id} reports ${JSON.stringify(reported)}`);
      if (fails) routed.done('failed');
      else routed.done('completed', usage, drawn.outputTokens * 4);
    });
  }
}

/** What users see of a picker by this plan; `scraped`: its samples come from the servers. */
export function whatIsSeen(plan: PickerPlan, scraped: boolean): Promise<Seen> {
  return new WholePicker(plan).run(scraped);
}
