import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { planWith } from '../../../test/support/faulty-plugins.ts';
import { NAMED_CONFIGS } from '../../config/defaults.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import { NO_BLOCKS } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { EndpointPicker } from '../endpoint-picker.ts';
import { DEFAULT_EJECTION, type EjectionPlan, withEjection } from './ejection-plan.ts';

/** `hangs` also for metrics; `stuck` for requests only; `no-metrics` for metrics only; one that `takes nothing new` hangs but for what is under way. */
type Fault =
  | 'works'
  | 'refuses'
  | 'hangs'
  | 'stuck'
  | 'fails-30-percent'
  | 'slow'
  | 'no-metrics'
  | 'slow, seldom scraped'
  | 'takes nothing new'
  | 'has too much to do';

const NO_SCRAPES: ReadonlySet<Fault> = new Set<Fault>([
  'hangs',
  'refuses',
  'no-metrics',
  'takes nothing new',
]);
const SERVERS = 8;
const INTERVAL_MS = 5;
const TTFT_MS = 30;
const ANSWER_MS = 300;
const QUEUES = `plugins: [{ type: queue-scorer }, { type: active-request-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }, { pluginRef: active-request-scorer }] }]
`;
const POLICIES: Readonly<Record<string, string>> = {
  'queues and load': QUEUES,
  default: (NAMED_CONFIGS.get('default') ?? '').replace(/^apiVersion.*\n|^kind.*\n/gm, ''),
};

interface Sent {
  readonly at: number;
  readonly server: number;
  failed: boolean;
}

/** Servers that answer 200 requests a second, until they have faults. */
class Bed {
  readonly clock = new SimulatedClock();
  readonly picker: EndpointPicker;
  readonly sent: Sent[] = [];
  readonly changes: string[] = [];
  readonly #random = seededRandom(7);
  readonly #faults = new Map<number, Fault>();
  readonly #streaming: boolean;
  readonly #patienceMs: number;
  #requests = 0;
  refused = 0;

  constructor({
    policy = QUEUES,
    ejection = DEFAULT_EJECTION,
    servers = SERVERS,
    labels = () => new Map<string, string>(),
    streaming = true,
    patienceMs = 60_000,
  }: {
    readonly policy?: string;
    readonly ejection?: EjectionPlan;
    readonly servers?: number;
    readonly streaming?: boolean;
    /** After this the client of a request that has no answer leaves. */
    readonly patienceMs?: number;
    readonly labels?: (at: number) => ReadonlyMap<string, string>;
  } = {}) {
    const network = { get: () => Promise.reject(new Error('no network')) };
    this.#streaming = streaming;
    this.#patienceMs = patienceMs;
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
  }

  run(forMs: number): void {
    const end = this.clock.now() + forMs;
    while (this.clock.now() < end) {
      this.#send();
      this.clock.advanceTo(Math.min(end, this.clock.now() + INTERVAL_MS));
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
      const endpoint = this.picker.pool.get(`e${server}` as EndpointId);
      const running = endpoint ? this.picker.ledger.load(endpoint).requests : 0;
      this.picker.pool.observe(`e${server}` as EndpointId, {
        waitingQueueSize: 0,
        runningRequests: running,
        kvCacheUsage: 0.1,
        sampledAt: this.clock.now(),
      });
    }
    const lateMs = fault === 'has too much to do' ? this.#upTo(600) : 0;
    const everyMs = fault === 'slow, seldom scraped' ? 1000 : 50 + lateMs;
    this.clock.setTimer(everyMs, () => this.#scrape(server));
  }

  #send(): void {
    const id = `r${this.#requests++}`;
    const streaming = this.#streaming;
    const about = { promptTokens: 100, prompt: NO_BLOCKS, outputTokensMax: 50, streaming };
    const request = makeRequest({ id, ...about });
    const options = { firstTokenSeen: true };
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
    const sent: Sent = { at: this.clock.now(), server, failed: false };
    this.sent.push(sent);
    const fault = this.#faultOf(server);
    const fails = fault === 'fails-30-percent' && this.#random.next() < 0.3;
    if (fault === 'refuses' || fails) {
      sent.failed = true;
      this.clock.setTimer(2, () => routed.done('failed'));
    } else if (fault === 'hangs' || fault === 'stuck' || fault === 'takes nothing new') {
      sent.failed = true;
      this.clock.setTimer(this.#patienceMs, () => routed.done('aborted'));
    } else {
      const isSlow = fault === 'slow' || fault === 'slow, seldom scraped';
      const ttftMs =
        fault === 'has too much to do'
          ? 100 + this.#upTo(3000)
          : fault === 'slow'
            ? 2500
            : isSlow
              ? 600
              : TTFT_MS * (0.8 + 0.4 * this.#random.next());
      // A server that hangs says nothing of what is under way either.
      const unlessItHangs = (report: () => void) => () =>
        this.#faultOf(server) === 'hangs' ? undefined : report();
      this.clock.setTimer(
        ttftMs,
        unlessItHangs(() => (streaming ? routed.firstToken() : undefined)),
      );
      this.clock.setTimer(
        ttftMs + ANSWER_MS,
        unlessItHangs(() => routed.done('completed')),
      );
      this.clock.setTimer(60_000, () => routed.done('aborted'));
    }
  }
}

/** When a server was first ejected after a time; infinite for never. */
function ejectedAfter(bed: Bed, server: number, from: number): number {
  const times = bed.changes.flatMap((change) => {
    const [at = '', id, what] = change.split(' ');
    return id === `e${server}` && what !== 'back' && Number(at) >= from ? [Number(at)] : [];
  });
  return (times[0] ?? Number.POSITIVE_INFINITY) - from;
}

const FAULTS: readonly Fault[] = ['refuses', 'hangs', 'stuck', 'fails-30-percent'];
const CASES = Object.keys(POLICIES).flatMap((policy) =>
  FAULTS.map((fault) => [fault, policy] as const),
);

describe('an endpoint that fails', () => {
  it.each(CASES)(
    '[V130] is out of the candidates within 2 s, costs at most 0.1 percent of requests after that, and is back within 10 s: one that %s, policy %s',
    (fault, policy) => {
      const bed = new Bed({ policy: POLICIES[policy] ?? '' });
      bed.run(5000);
      expect(bed.changes).toEqual([]);
      const from = bed.clock.now();
      bed.set(3, fault);
      bed.run(120_000);
      const afterMs = ejectedAfter(bed, 3, from);
      expect(afterMs).toBeLessThanOrEqual(2000);
      const later = bed.sent.filter(({ at }) => at > from + afterMs);
      const share = later.filter(({ failed }) => failed).length / later.length;
      expect(share).toBeLessThanOrEqual(0.001);
      bed.set(3, 'works');
      bed.run(10_000);
      expect(bed.isOut(3)).toBe(false);
      expect(bed.refused).toBe(0);
    },
  );

  it.each([true, false])(
    '[V290] gets no trial right after one whose client left, so that impatient clients cost at most 0.1 percent of requests, streaming %s',
    (streaming) => {
      const bed = new Bed({ streaming, patienceMs: 800 });
      bed.run(5000);
      bed.set(3, 'refuses');
      bed.run(2000);
      expect(bed.isOut(3)).toBe(true);
      bed.set(3, 'stuck');
      bed.run(10_000);
      const from = bed.clock.now();
      bed.run(60_000);
      const later = bed.sent.filter(({ at }) => at >= from);
      expect(later.filter(({ failed }) => failed).length).toBeLessThanOrEqual(0.001 * later.length);
      bed.set(3, 'works');
      bed.run(10_000);
      expect(bed.isOut(3)).toBe(false);
    },
  );

  it('[V130] does not come back by chance while it fails 30 % of its requests', () => {
    const bed = new Bed();
    bed.run(5000);
    bed.set(3, 'fails-30-percent');
    bed.run(300_000);
    expect(bed.changes.filter((change) => change.endsWith('back')).length).toBeLessThanOrEqual(1);
  });

  it('[V131] is not ejected where all fail alike: then the requests are to blame', () => {
    const bed = new Bed();
    for (let at = 0; at < SERVERS; at++) bed.set(at, 'fails-30-percent');
    bed.run(30_000);
    const longest = bed.changes.filter((change) => !change.endsWith('back')).length;
    // At the beginning little is known of the others.
    expect(longest).toBeLessThanOrEqual(2);
    bed.run(20_000);
    expect(bed.changes.filter((change) => Number(change.split(' ')[0]) > 30_000)).toEqual([]);
  });

  it('[V131] stays a candidate where it is the last one, and its requests are sent to it', () => {
    const bed = new Bed({ servers: 3 });
    bed.run(2000);
    for (let at = 0; at < 3; at++) bed.set(at, 'refuses');
    bed.run(20_000);
    expect([0, 1, 2].filter((at) => bed.isOut(at)).length).toBeLessThan(3);
    expect(bed.refused).toBe(0);
    for (let at = 0; at < 3; at++) bed.set(at, 'works');
    bed.run(15_000);
    expect([0, 1, 2].filter((at) => bed.isOut(at))).toEqual([]);
  });

  it('[V131] takes half the pool out where half the pool crashes', () => {
    const bed = new Bed();
    bed.run(5000);
    for (const at of [0, 2, 4, 6]) bed.set(at, 'refuses');
    bed.run(1000);
    const from = bed.clock.now();
    bed.run(2000);
    // One trial each at the most.
    expect(bed.sent.filter(({ at, failed }) => at >= from && failed).length).toBeLessThanOrEqual(4);
  });

  it('[V131] serves what only it may serve', () => {
    const policy = `plugins: [{ type: by-label, parameters: { label: only, validValues: ['yes'] } }, { type: queue-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: by-label }, { pluginRef: queue-scorer }] }]
`;
    const bed = new Bed({ policy, labels: (at) => new Map([['only', at === 0 ? 'yes' : 'no']]) });
    bed.run(1000);
    bed.set(0, 'refuses');
    bed.run(5000);
    expect(bed.refused).toBe(0);
    expect(new Set(bed.sent.map(({ server }) => server))).toEqual(new Set([0]));
  });

  it('[V130] is not one whose first tokens are slow all over the pool, which says nothing about one of them', () => {
    const all = new Bed();
    for (let at = 0; at < SERVERS; at++) all.set(at, 'slow');
    all.run(60_000);
    expect(all.changes).toEqual([]);
  });

  it('[V130] is ejected where the proxy could not reach it and used a fallback', () => {
    const bed = new Bed();
    bed.run(2000);
    bed.clock.advanceTo(3000);
    const request = (n: number) => makeRequest({ id: `x${n}` });
    for (let n = 0; n < 500 && bed.changes.length === 0; n++) {
      const routed = bed.picker.route(request(n), { firstTokenSeen: true });
      const isThird = routed.endpoint.id === 'e3';
      if (isThird) routed.served('10.0.0.4:80');
      routed.firstToken();
      routed.done('completed');
    }
    expect(bed.changes).toEqual(['3000 e3 not-reached']);
    expect(bed.isOut(4)).toBe(false);
  });

  it.each(
    Object.keys(POLICIES).flatMap((name) =>
      [true, false].map((streaming) => [name, streaming] as const),
    ),
  )(
    '[V143] costs at most 0.1 percent of the requests of half a minute where it hangs, and is back with its first scrape: policy %s, streaming %s',
    (name, streaming) => {
      const bed = new Bed({ policy: POLICIES[name] ?? '', streaming });
      bed.run(5000);
      const from = bed.clock.now();
      bed.set(3, 'hangs');
      bed.run(30_000);
      const later = bed.sent.filter(({ at }) => at > from);
      expect(ejectedAfter(bed, 3, from)).toBeLessThanOrEqual(700);
      expect(later.filter(({ failed }) => failed).length).toBeLessThanOrEqual(0.001 * later.length);
      bed.set(3, 'works');
      bed.run(200);
      expect(bed.isOut(3)).toBe(false);
      expect(bed.changes.map((change) => change.replace(/^\S+ /, ''))).toEqual([
        'e3 silent',
        'e3 back',
      ]);
    },
  );

  it.each(
    Object.keys(POLICIES).flatMap((name) =>
      [true, false].map((streaming) => [name, streaming] as const),
    ),
  )(
    '[V150] costs at most 0.1 percent of the requests of half a minute, also where it ends what is under way: policy %s, streaming %s',
    (name, streaming) => {
      const bed = new Bed({ policy: POLICIES[name] ?? '', streaming });
      bed.run(5000);
      const from = bed.clock.now();
      bed.set(3, 'takes nothing new');
      bed.run(30_000);
      const later = bed.sent.filter(({ at }) => at > from);
      expect(later.filter(({ failed }) => failed).length).toBeLessThanOrEqual(0.001 * later.length);
      bed.set(3, 'works');
      bed.run(200);
      const lastAt = bed.sent.findLast(({ server }) => server === 3)?.at ?? 0;
      expect(lastAt).toBeGreaterThan(from + 30_000);
    },
  );

  it.each(Object.keys(POLICIES))(
    '[V150] gets requests as before where it answers them, but no scrapes: policy %s',
    (name) => {
      const bed = new Bed({ policy: POLICIES[name] ?? '' });
      bed.run(5000);
      const from = bed.clock.now();
      bed.set(3, 'no-metrics');
      bed.run(1500);
      const later = bed.sent.filter(({ at, server }) => at > from + 200 && server === 3);
      const fairShare = (200 * 1.3) / SERVERS;
      expect(later.length).toBeGreaterThan(fairShare / 2);
    },
  );

  it.each(
    Object.keys(POLICIES).flatMap((name) =>
      [true, false].map((streaming) => [name, streaming] as const),
    ),
  )(
    '[V151] is not one of a pool that has too much to do, whose scrapes and first tokens are late: policy %s, streaming %s',
    (name, streaming) => {
      const bed = new Bed({ policy: POLICIES[name] ?? '', streaming });
      bed.run(5000);
      for (let at = 0; at < SERVERS; at++) bed.set(at, 'has too much to do');
      bed.run(20_000);
      expect(bed.changes).toEqual([]);
      const shares = Array.from(
        { length: SERVERS },
        (_, at) => bed.sent.filter(({ server }) => server === at).length / bed.sent.length,
      );
      for (const share of shares) expect(share).toBeGreaterThan(0.5 / SERVERS);
    },
  );

  it('[V143] is not silent where it answers requests or scrapes', () => {
    const bed = new Bed();
    bed.set(3, 'slow, seldom scraped');
    // Until its rhythm is known.
    bed.run(5000);
    bed.changes.length = 0;
    bed.set(1, 'no-metrics');
    bed.set(2, 'slow');
    bed.run(60_000);
    expect(bed.changes.filter((change) => change.endsWith('silent'))).toEqual([]);
  });

  it('[V143] is not ejected where the whole pool is silent, or the picker has stood still', () => {
    const all = new Bed();
    all.run(2000);
    for (let at = 0; at < SERVERS; at++) all.set(at, 'hangs');
    all.run(1000);
    expect(all.changes).toEqual([]);
    const stopped = new Bed();
    stopped.run(2000);
    stopped.clock.advanceTo(stopped.clock.now() + 3000);
    stopped.run(2000);
    expect(stopped.changes).toEqual([]);
  });

  it('[V132] is a candidate as before where ejection is not enabled', () => {
    const bed = new Bed({ ejection: { ...DEFAULT_EJECTION, enabled: false } });
    bed.set(3, 'refuses');
    bed.run(5000);
    expect(bed.changes).toEqual([]);
  });
});
