import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { RoutingError } from '../../src/framework/error.ts';
import { NO_BLOCKS } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import {
  DEFAULT_EJECTION,
  type EjectionPlan,
  withEjection,
} from '../../src/picker/ejection/ejection-plan.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest } from '../makers.ts';
import { planWith } from './plugins/faulty-plugins.ts';

/**
 * `hangs` also for metrics; `stuck` for requests only; `no-metrics` for metrics only; one that
 * `takes nothing new` hangs but for what is under way.
 */
export type Fault =
  | 'works'
  | 'refuses'
  | 'hangs'
  | 'stuck'
  | 'fails-30-percent'
  | 'slow'
  | 'no-metrics'
  | 'slow, seldom scraped'
  | 'takes nothing new'
  | 'breaks off'
  | 'breaks off at once'
  | 'has too much to do';

const NO_SCRAPES: ReadonlySet<Fault> = new Set<Fault>([
  'hangs',
  'refuses',
  'no-metrics',
  'takes nothing new',
]);
export const SERVERS = 8;
/** Between two requests. */
const INTERVAL_MS = 5;
const TTFT_MS = 30;
const ANSWER_MS = 300;
const QUEUES = `plugins: [{ type: queue-scorer }, { type: active-request-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }, { pluginRef: active-request-scorer }] }]
`;
/** Configurations without their first lines. */
export const POLICIES: Readonly<Record<string, string>> = {
  'queues and load': QUEUES,
  default: (NAMED_CONFIGS.get('default') ?? '').replace(/^apiVersion.*\n|^kind.*\n/gm, ''),
};

export interface Sent {
  readonly at: number;
  readonly server: number;
  /** Where the proxy may send it, the server first. */
  readonly destinations: readonly string[];
  failed: boolean;
}

/** Servers that answer 200 requests a second by default, until they have faults. */
export class EjectionBed {
  readonly clock: SimulatedClock = new SimulatedClock();
  readonly picker: EndpointPicker;
  readonly sent: Sent[] = [];
  readonly changes: string[] = [];
  readonly #random = seededRandom(7);
  readonly #faults = new Map<number, Fault>();
  /** By server: the requests that it has, and those of them that it loses when it works again. */
  readonly #running = new Map<number, number>();
  readonly #stuck = new Map<number, number>();
  readonly #streaming: boolean;
  readonly #patienceMs: number;
  readonly #intervalMs: number;
  #requests = 0;
  refused = 0;

  constructor({
    policy = QUEUES,
    ejection = DEFAULT_EJECTION,
    servers = SERVERS,
    labels = () => new Map<string, string>(),
    streaming = true,
    patienceMs = 60_000,
    intervalMs = INTERVAL_MS,
  }: {
    readonly policy?: string;
    readonly ejection?: EjectionPlan;
    readonly servers?: number;
    readonly streaming?: boolean;
    /** After this the client of a request that has no answer leaves. */
    readonly patienceMs?: number;
    readonly intervalMs?: number;
    readonly labels?: (at: number) => ReadonlyMap<string, string>;
  } = {}) {
    const network = { get: () => Promise.reject(new Error('no network')) };
    this.#streaming = streaming;
    this.#patienceMs = patienceMs;
    this.#intervalMs = intervalMs;
    this.picker = new EndpointPicker({
      plan: withEjection(planWith(policy), ejection),
      runtime: { clock: this.clock, random: seededRandom(3), network },
      onEjection: ({ endpoint, ejected }) =>
        this.changes.push(
          `${this.clock.now()} ${endpoint.id} ${ejected === undefined ? 'back' : ejected.reason}`,
        ),
    });
    for (let at = 0; at < servers; at++) {
      const id = `e${at}` as EndpointId;
      this.picker.pool.upsert({ id, address: `10.0.0.${at}:80`, labels: labels(at) });
      this.#scrape(at);
    }
  }

  set(server: number, fault: Fault): void {
    this.#faults.set(server, fault);
    this.#has(server, -(this.#stuck.get(server) ?? 0));
    this.#stuck.delete(server);
  }

  run(forMs: number): void {
    const end = this.clock.now() + forMs;
    while (this.clock.now() < end) {
      this.#send();
      this.clock.advanceTo(Math.min(end, this.clock.now() + this.#intervalMs));
    }
  }

  isOut(server: number): boolean {
    const endpoint = this.picker.pool.get(`e${server}` as EndpointId);
    return endpoint !== undefined && this.picker.ejector.ejected(endpoint) !== undefined;
  }

  /** More often little than much. */
  #upTo(millis: number): number {
    return millis * this.#random.next() ** 3;
  }

  #faultOf(server: number): Fault {
    return this.#faults.get(server) ?? 'works';
  }

  #scrape(server: number): void {
    const fault = this.#faultOf(server);
    if (!NO_SCRAPES.has(fault)) {
      this.picker.pool.observe(`e${server}` as EndpointId, {
        waitingQueueSize: 0,
        runningRequests: this.#running.get(server) ?? 0,
        kvCacheUsage: 0.1,
        sampledAt: this.clock.now(),
      });
    }
    const lateMs = fault === 'has too much to do' ? this.#upTo(600) : 0;
    const everyMs = fault === 'slow, seldom scraped' ? 1000 : 50 + lateMs;
    this.clock.setTimer(everyMs, () => this.#scrape(server));
  }

  #has(server: number, more: number): void {
    this.#running.set(server, (this.#running.get(server) ?? 0) + more);
  }

  #send(): void {
    const id = `r${this.#requests++}`;
    const streaming = this.#streaming;
    const about = { promptTokens: 100, prompt: NO_BLOCKS, outputTokensMax: 50, streaming };
    const request = makeRequest({ id, ...about });
    const options = { firstTokenVisible: true };
    const refused = (error: unknown): void => {
      if (!(error instanceof RoutingError)) throw error;
      this.refused += 1;
    };
    const placement = { placed: (routed: RoutedRequest) => this.#serve(routed), refused };
    const { enqueue } = this.picker;
    try {
      const routed = enqueue?.(request, options, placement) ?? this.picker.route(request, options);
      this.#serve(routed);
    } catch (error) {
      refused(error);
    }
  }

  #serve(routed: RoutedRequest): void {
    const streaming = this.#streaming;
    const server = Number(routed.endpoint.id.slice(1));
    const { destinations } = routed;
    const sent: Sent = { at: this.clock.now(), server, destinations, failed: false };
    this.sent.push(sent);
    const fault = this.#faultOf(server);
    const fails = fault === 'fails-30-percent' && this.#random.next() < 0.3;
    if (fault === 'refuses' || fails) {
      sent.failed = true;
      this.clock.setTimer(2, () => routed.done('failed'));
    } else if (fault === 'hangs' || fault === 'stuck' || fault === 'takes nothing new') {
      sent.failed = true;
      this.#has(server, 1);
      this.#stuck.set(server, (this.#stuck.get(server) ?? 0) + 1);
      this.clock.setTimer(this.#patienceMs, () => routed.done('aborted'));
    } else {
      const ttftMs = this.#ttftMsWith(fault);
      // A server that hangs says nothing of what is under way either.
      const unlessItHangs = (report: () => void) => () =>
        this.#faultOf(server) === 'hangs' ? undefined : report();
      this.clock.setTimer(
        ttftMs,
        unlessItHangs(() => (streaming ? routed.firstToken() : undefined)),
      );
      this.#has(server, 1);
      const answerMs = fault === 'breaks off at once' ? 1 : ANSWER_MS;
      this.clock.setTimer(ttftMs + answerMs, () => this.#has(server, -1));
      sent.failed = fault === 'breaks off' || fault === 'breaks off at once';
      const outcome = sent.failed ? 'failed' : 'completed';
      this.clock.setTimer(
        ttftMs + answerMs,
        unlessItHangs(() => routed.done(outcome)),
      );
      this.clock.setTimer(60_000, () => routed.done('aborted'));
    }
  }

  #ttftMsWith(fault: Fault): number {
    if (fault === 'has too much to do') return 100 + this.#upTo(3000);
    if (fault === 'slow') return 2500;
    if (fault === 'slow, seldom scraped') return 600;
    return TTFT_MS * (0.8 + 0.4 * this.#random.next());
  }
}

/** When a server was first ejected after a time; infinite for never. */
export function ejectedAfter(bed: EjectionBed, server: number, from: number): number {
  const times = bed.changes.flatMap((change) => {
    const [at = '', id, what] = change.split(' ');
    return id === `e${server}` && what !== 'back' && Number(at) >= from ? [Number(at)] : [];
  });
  return (times[0] ?? Number.POSITIVE_INFINITY) - from;
}
