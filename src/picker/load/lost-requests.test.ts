import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { EjectionBed, POLICIES } from '../../../test/support/ejection-bed.ts';
import { planWith } from '../../../test/support/plugins/faulty-plugins.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { EndpointPicker } from '../endpoint-picker.ts';

const POLICY = `plugins: [{ type: round-robin-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: round-robin-scorer }] }]
ejection: { enabled: false }
`;
const SAMPLE_MS = 50;

/** Servers `e0` and so on, whose metrics and answers are those that the test says. */
class Bed {
  readonly clock = new SimulatedClock();
  readonly picker: EndpointPicker;
  readonly #reported: (readonly [running: number, waiting: number] | undefined)[] = [];

  constructor({ servers = 1, more = '' }: { servers?: number; more?: string } = {}) {
    const network = { get: () => Promise.reject(new Error('no network')) };
    const runtime = { clock: this.clock, random: seededRandom(1), network };
    this.picker = new EndpointPicker({ plan: planWith(POLICY + more), runtime });
    for (let at = 0; at < servers; at++) {
      const id = `e${at}` as EndpointId;
      this.picker.pool.upsert({ id, address: `10.0.0.${at}:80`, labels: new Map() });
    }
  }

  endpoint(at = 0): Endpoint {
    const endpoint = this.picker.pool.snapshot()[at];
    if (endpoint === undefined) throw new Error('no such server');
    return endpoint;
  }

  get requests(): number {
    return this.picker.ledger.load(this.endpoint()).requests;
  }

  /** From now on its samples have these counts. */
  report(running: number, waiting: number, at = 0): void {
    this.#reported[at] = [running, waiting];
  }

  send(at = 0): RoutedRequest {
    const request = makeRequest({ streaming: true, promptTokens: 1000 });
    const options = { firstTokenVisible: true, subset: [this.endpoint(at).address] };
    return this.picker.route(request, options);
  }

  isFull(at = 0): boolean {
    return this.picker.limit.isFull(this.endpoint(at));
  }

  /** Meanwhile a request to another server is answered now and then, as far as there is one. */
  pass(forMs: number): void {
    const end = this.clock.now() + forMs;
    while (this.clock.now() < end) {
      this.clock.advanceTo(this.clock.now() + SAMPLE_MS);
      this.#reported.forEach((counts, at) => {
        const [runningRequests, waitingQueueSize] = counts ?? [0, 0];
        const load = { runningRequests, waitingQueueSize, kvCacheUsage: 0.1 };
        if (counts === undefined) return;
        this.picker.pool.observe(this.endpoint(at).id, { ...load, sampledAt: this.clock.now() });
      });
      if (this.picker.pool.snapshot().length > 1) this.send(1).done('completed');
    }
  }
}

describe('requests that a server has lost', () => {
  it.each(Object.keys(POLICIES))(
    '[O399] are no load: it gets its share again while clients wait for them: policy %s, seed 7',
    (name) => {
      const bed = new EjectionBed({ policy: POLICIES[name] ?? '', patienceMs: 600_000 });
      bed.run(5000);
      bed.set(3, 'stuck');
      bed.run(8000);
      bed.set(3, 'works');
      bed.run(5000);
      const before = bed.sent.length;
      bed.run(20_000);
      const since = bed.sent.slice(before);
      const share = since.filter(({ server }) => server === 3).length / since.length;
      expect(share * 8).toBeGreaterThan(0.9);
    },
  );

  it('[O400] are those that one has overtaken which was sent when they were late, unless as many wait there as its metrics say', () => {
    const bed = new Bed({ servers: 2 });
    const late = bed.send();
    bed.report(1, 1);
    bed.pass(1900);
    bed.send().firstToken();
    bed.pass(3000);
    // It was not late when the other one was sent.
    expect(bed.requests).toBe(2);
    bed.send().firstToken();
    bed.pass(3000);
    expect(bed.requests).toBe(3);
    bed.report(2, 0);
    bed.pass(200);
    expect(bed.requests).toBe(2);
    expect(bed.picker.ledger.load(bed.endpoint()).pendingPrefillTokens).toBe(0);
    // It was slow.
    late.firstToken();
    expect(bed.requests).toBe(3);
    late.done('completed');
    expect(bed.requests).toBe(2);
  });

  it('[O400] are found by the order of first tokens alone at servers without metrics', () => {
    const bed = new Bed({ servers: 2 });
    const lost = bed.send();
    bed.pass(2100);
    bed.send().firstToken();
    bed.pass(200);
    expect(bed.requests).toBe(1);
    lost.done('aborted');
    expect(bed.requests).toBe(1);
    expect(bed.picker.ledger.occupied(bed.endpoint())).toBe(1);
  });

  it('[O401] are as many as are missing in the metrics of the server for 5 s, begun or not', () => {
    const bed = new Bed({ servers: 2 });
    const begun = [bed.send(), bed.send(), bed.send()];
    for (const each of begun) each.firstToken();
    bed.report(3, 0);
    bed.pass(10_000);
    expect(bed.requests).toBe(3);
    bed.report(1, 0);
    bed.pass(4500);
    expect(bed.requests).toBe(3);
    bed.pass(1000);
    expect(bed.requests).toBe(1);
    // New ones, which the metrics have, too, do not hide them.
    bed.send().firstToken();
    bed.report(2, 0);
    bed.pass(6000);
    expect(bed.requests).toBe(2);
    // They are there after all.
    bed.report(4, 0);
    bed.pass(200);
    expect(bed.requests).toBe(4);
    for (const each of begun) each.done('completed');
    expect(bed.requests).toBe(1);
  });

  it('[O401] are none where the metrics have never had one, or requests of others in their place', () => {
    const bed = new Bed({ servers: 2 });
    for (let n = 0; n < 3; n++) bed.send().firstToken();
    bed.report(0, 0);
    bed.pass(20_000);
    expect(bed.requests).toBe(3);
    bed.report(5, 0);
    bed.pass(20_000);
    expect(bed.requests).toBe(3);
  });

  it('[O401] are none that may wait in front of the engine: until one that came later is answered', () => {
    const bed = new Bed({ servers: 2 });
    bed.send().firstToken();
    const waits = [bed.send(), bed.send()];
    bed.report(1, 0);
    bed.pass(60_000);
    expect(bed.requests).toBe(3);
    for (const each of waits) each.firstToken();
    bed.pass(6000);
    expect(bed.requests).toBe(1);
  });

  it('[O402] keep their places where requests in flight have a bound', () => {
    const bed = new Bed({ servers: 2, more: 'capacity: { maxConcurrency: 2 }' });
    const places = [bed.send(), bed.send()];
    for (const each of places) each.firstToken();
    bed.report(1, 0);
    bed.pass(60_000);
    expect(bed.requests).toBe(1);
    expect(bed.isFull()).toBe(true);
    for (const each of places) each.done('aborted');
    expect(bed.isFull()).toBe(false);
    expect(bed.picker.ledger.occupied(bed.endpoint())).toBe(0);
  });
});
