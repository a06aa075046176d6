import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG } from '../../src/framework/endpoint-attributes.ts';
import { RoutingError } from '../../src/framework/error.ts';
import { type InferenceRequest, NO_BLOCKS } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import type { Millis, Random } from '../../src/framework/runtime.ts';
import { Headroom } from '../../src/journal/headroom/headroom.ts';
import type { PoolSpec, ServerSpec } from '../../src/lab/simulate/pool-spec.ts';
import { SimulatedServer } from '../../src/lab/simulate/simulated-server.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { ControlledRouter } from '../../src/picker/flow-control/controlled-router.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { Autoscaler } from './autoscaler.ts';

/** One request of an overload: who sends it, when, and how large it is. */
export interface Sent {
  readonly atMs: Millis;
  /** The fairness id. */
  readonly tenant: string;
  readonly priority: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** What became of a request. It has exactly one end. */
export interface Ended {
  readonly sent: Sent;
  /** Undefined for one that was refused. */
  ttftMs: Millis | undefined;
  /** From the arrival; undefined before the end. */
  e2eMs: Millis | undefined;
  /** Why it was refused: the code of the error. */
  refused: string | undefined;
  /** How often an end was reported: 1 for each. */
  ends: number;
}

export interface BedOptions {
  readonly config: string;
  readonly pool: PoolSpec;
  /** In the order of arrival. */
  readonly requests: readonly Sent[];
  readonly seed: number;
  /** Called every second of simulated time. */
  readonly everySecond?: ((headroom: Headroom, at: Millis, serving: number) => void) | undefined;
  /** Replicas like the first one come and go as the headroom asks, each after so long a start. */
  readonly coldStartMs?: Millis | undefined;
}

/** One way, between client, picker and server. */
const NETWORK_MS = 0.25;
const SCRAPE_MS = 50;
const BLOCK_TOKENS = 16;
const OFFLINE = {
  ...EMBEDDED_CATALOGUE,
  dataSources: EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork),
};

/**
 * Requests through flow control, the decision core and simulated servers, under a virtual clock.
 * `simulate` has neither headroom nor answers of refused requests. Equal options give equal
 * results.
 */
export function runBed(options: BedOptions): readonly Ended[] {
  return new Bed(options).run();
}

class Bed {
  readonly #options: BedOptions;
  readonly #clock = new SimulatedClock();
  readonly #router = new ControlledRouter({ clock: this.#clock });
  readonly #picker: EndpointPicker;
  readonly #headroom: Headroom;
  readonly #random: Random;
  readonly #servers = new Map<string, SimulatedServer>();
  readonly #results: Ended[] = [];
  #open = 0;

  constructor(options: BedOptions) {
    this.#options = options;
    const { config, pool, seed } = options;
    const plan = loadConfig({
      text: NAMED_CONFIGS.get(config) ?? config,
      source: 'overload',
      catalogue: OFFLINE,
    });
    const clock = this.#clock;
    const random = seededRandom(seed);
    const network = { get: () => Promise.reject(new Error('there is no network here')) };
    this.#headroom = new Headroom({
      clock,
      endpoints: () => this.#picker.pool.snapshot(),
      limitOf: (endpoint) => this.#picker.limit.of(endpoint),
      waiting: () => this.#picker.waiting.requests + this.#router.waiting,
      undecided: () => this.#router.undecided,
      isEjected: (endpoint) => this.#picker.ejector.ejected(endpoint) !== undefined,
    });
    this.#picker = new EndpointPicker({
      plan,
      runtime: { clock, random, network, secret: seed },
      subscribers: [this.#headroom, this.#router.observer],
      onFault: ({ error }) => {
        throw error;
      },
    });
    this.#router.attach(this.#picker);
    this.#router.configure(plan.flowControl);
    this.#random = random;
    for (const spec of pool.servers) this.#join(spec);
    if (options.coldStartMs !== undefined) this.#autoscale(options.coldStartMs);
  }

  run(): readonly Ended[] {
    const { requests, everySecond } = this.#options;
    const watch = this.#headroom.start();
    const second = (): void => {
      everySecond?.(this.#headroom, this.#clock.now(), this.#picker.pool.snapshot().length);
      this.#clock.setTimer(1000, second);
    };
    this.#clock.setTimer(1000, second);
    for (const sent of requests) {
      this.#clock.advanceTo(sent.atMs);
      this.#arrive(sent);
    }
    while (this.#open > 0) if (!this.#clock.step()) break;
    watch.stop();
    this.#router.stop();
    this.#picker.stop();
    return this.#results;
  }

  #autoscale(coldStartMs: Millis): void {
    const { pool } = this.#picker;
    const [first] = this.#options.pool.servers;
    if (first === undefined) return;
    new Autoscaler({
      clock: this.#clock,
      coldStartMs,
      wanted: () => Math.max(...this.#headroom.report().stages.map((each) => each.desiredReplicas)),
      serving: () => pool.snapshot().length,
      join: () => this.#join({ ...first, id: `more-${this.#servers.size}` }),
      leave: () => {
        const last = pool.snapshot().at(-1);
        if (last !== undefined) pool.remove(last.id);
      },
    }).start();
  }

  #join(spec: ServerSpec): void {
    const { pool } = this.#picker;
    const parts = {
      clock: this.#clock,
      random: this.#random.fork(spec.id),
      blockTokens: BLOCK_TOKENS,
    };
    const server = new SimulatedServer(spec, parts);
    this.#servers.set(spec.id, server);
    const id = spec.id as EndpointId;
    pool.upsert({ id, address: `${id}:8000`, labels: new Map(Object.entries(spec.labels)) });
    const blocks = Math.floor(spec.kvTokens / BLOCK_TOKENS);
    pool.set(id, CACHE_CONFIG, { blockTokens: BLOCK_TOKENS, blocks });
    const scrape = (): void => {
      if (pool.get(id) === undefined) return;
      const sample = server.sample();
      if (sample !== undefined) pool.observe(id, { ...sample, sampledAt: this.#clock.now() });
      this.#clock.setTimer(SCRAPE_MS, scrape);
    };
    scrape();
  }

  #arrive(sent: Sent): void {
    const result: Ended = {
      sent,
      ttftMs: undefined,
      e2eMs: undefined,
      refused: undefined,
      ends: 0,
    };
    const request = requestOf(sent, this.#results.length);
    this.#results.push(result);
    this.#open += 1;
    const go = (): void => this.#route(request, result);
    const refuse = (error: RoutingError): void => this.#refuse(result, error);
    if (this.#router.prepare?.(request, [], go, { refuse }) !== true) go();
  }

  #route(request: InferenceRequest, result: Ended): void {
    const options = { firstTokenVisible: true };
    const placement = {
      placed: (routed: RoutedRequest) => this.#send(routed, result),
      refused: (error: unknown) => this.#refuse(result, error),
    };
    let routed: RoutedRequest | undefined;
    try {
      const { enqueue } = this.#router;
      routed = enqueue?.(request, options, placement) ?? undefined;
      if (enqueue === undefined) routed = this.#router.route(request, options);
    } catch (error) {
      this.#refuse(result, error);
    }
    if (routed !== undefined) this.#send(routed, result);
  }

  #send(routed: RoutedRequest, result: Ended): void {
    const { sent } = result;
    const server = this.#servers.get(routed.endpoint.id);
    this.#later(() =>
      server?.submit({
        promptTokens: sent.promptTokens,
        outputTokens: sent.outputTokens,
        blockHashes: new Float64Array(0),
        onFirstToken: () =>
          this.#later(() => {
            result.ttftMs ??= this.#clock.now() - sent.atMs;
            routed.firstToken();
          }),
        onDone: (reason, usage) =>
          this.#later(() => {
            const failed = reason === 'error';
            routed.done(failed ? 'failed' : 'completed', failed ? undefined : usage);
            this.#end(result);
          }),
      }),
    );
  }

  #refuse(result: Ended, error: unknown): void {
    if (!(error instanceof RoutingError)) throw error;
    result.refused = error.code;
    this.#end(result);
  }

  #end(result: Ended): void {
    result.ends += 1;
    result.e2eMs = this.#clock.now() - result.sent.atMs;
    this.#open -= 1;
  }

  #later(callback: () => void): void {
    this.#clock.setTimer(NETWORK_MS, callback);
  }
}

function requestOf({ tenant, priority, promptTokens }: Sent, number: number): InferenceRequest {
  return {
    id: `r${number}`,
    model: 'm',
    streaming: true,
    outputTokensMax: undefined,
    promptTokens,
    prompt: NO_BLOCKS,
    priority,
    fairnessId: tenant,
    objective: undefined,
    ttftSloMs: undefined,
    tpotSloMs: undefined,
    headers: new Map([[':method', 'POST']]),
    bodyBytes: 4 * promptTokens,
  };
}
