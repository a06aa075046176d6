import type { Endpoint, EndpointId } from '../../../src/framework/endpoint.ts';
import { RoutingError } from '../../../src/framework/error.ts';
import type { Outcome, Usage } from '../../../src/framework/observer.ts';
import type { InferenceRequest } from '../../../src/framework/request.ts';
import { NO_BLOCKS } from '../../../src/framework/request.ts';
import type { RoutedRequest } from '../../../src/framework/routing.ts';
import type { Random } from '../../../src/framework/runtime.ts';
import { DEFAULT_EJECTION, withEjection } from '../../../src/picker/ejection/ejection-plan.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import type { PickerPlan } from '../../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { makeRequest } from '../../makers.ts';
import { planWith } from '../plugins/faulty-plugins.ts';
import { FAULTY_PLANS } from './faulty-plans.ts';
import { loadLeft } from './load-left.ts';
import { RandomFaults } from './random-faults.ts';

/** What a storm has seen, so that a test can say that every kind of fault happened. */
export interface Storm {
  readonly decided: number;
  readonly refused: number;
  readonly expired: number;
  readonly faults: ReadonlyMap<string, number>;
  /** Requests that were decided more than once, by mistake. */
  readonly twice: number;
  /** Failures that the storm reports, by endpoint. */
  readonly ejections: number;
  /** How much simulated time passed while requests came. */
  readonly lastedMs: number;
  /** What the ledger still holds in the end: `endpoint what amount`. */
  readonly drift: readonly string[];
}

const ENDPOINTS = 20;
const MAX_AGE_MS = 60_000;
const BODY = [new Uint8Array(1)];
/** For so many requests the same endpoint fails all that it gets; then it is another one. */
const FAILING_FOR = 2000;

/** Requests through the decision core while everything around it fails, all by one seed. */
export function faultStorm(seed: number, requests: number): Storm {
  return new FaultStorm(seed).run(requests);
}

class FaultStorm {
  readonly #random: Random;
  readonly #faults: RandomFaults;
  readonly #clock = new SimulatedClock();
  readonly #picker: EndpointPicker;
  readonly #plans: readonly PickerPlan[];
  readonly #open: RoutedRequest[] = [];
  #decided = 0;
  #refused = 0;
  #twice = 0;
  #failing = '';

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#faults = new RandomFaults(this.#random);
    const plugins = this.#faults.plugins();
    this.#plans = FAULTY_PLANS.map((body) =>
      withEjection(planWith(body, plugins), DEFAULT_EJECTION),
    );
    const network = { get: () => Promise.reject(new Error('nobody there')) };
    this.#picker = new EndpointPicker({
      plan: this.#plans.at(-1) as PickerPlan,
      runtime: { clock: this.#clock, random: seededRandom(seed + 1), network },
      subscribers: [this.#faults.observer()],
      reservations: { maxAgeMs: MAX_AGE_MS },
    });
    for (let at = 0; at < ENDPOINTS; at++) this.#addEndpoint(at);
  }

  run(requests: number): Storm {
    for (let n = 0; n < requests; n++) {
      if (n % FAILING_FOR === 0) this.#failing = `e${this.#faults.below(ENDPOINTS)}`;
      this.#changeSomething();
      this.#send(n);
      while (this.#open.length > 300 * this.#random.next()) this.#end();
      if (n % 50 === 0) this.#clock.setTimer(20, () => undefined);
      // About a thousand requests in a second: what waits for a timer does not pile up.
      this.#clock.advanceTo(this.#clock.now() + 2 * this.#random.next());
    }
    const lastedMs = this.#clock.now();
    while (this.#open.length > 0) this.#end();
    this.#clock.advanceTo(this.#clock.now() + 3 * MAX_AGE_MS);
    const faults = new Map<string, number>();
    for (const { kind, call, count } of this.#picker.faults.counts()) {
      const key = `${kind} ${call}`;
      faults.set(key, (faults.get(key) ?? 0) + count);
    }
    this.#picker.stop();
    return {
      decided: this.#decided,
      refused: this.#refused,
      expired: this.#picker.reservations?.expired ?? 0,
      faults,
      twice: this.#twice,
      ejections: [...this.#picker.ejector.counts.values()].reduce((sum, count) => sum + count, 0),
      lastedMs,
      drift: this.#drift(),
    };
  }

  #plan(): PickerPlan {
    return this.#plans[this.#faults.below(this.#plans.length)] as PickerPlan;
  }

  #addEndpoint(at: number): void {
    const id = `e${at}` as EndpointId;
    const labels = new Map([['llm-d.ai/role', ['prefill', 'decode', 'both'][at % 3] ?? 'both']]);
    this.#picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels });
    const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 };
    this.#picker.pool.observe(id, idle);
  }

  /** Endpoints vanish and return; configurations are adopted, challenged and withdrawn. */
  #changeSomething(): void {
    const picker = this.#picker;
    if (this.#faults.chance(0.002)) {
      const at = this.#faults.below(ENDPOINTS);
      picker.pool.remove(`e${at}` as EndpointId);
      if (this.#faults.chance(0.5)) this.#addEndpoint(at);
      else this.#clock.setTimer(200, () => this.#addEndpoint(at));
    }
    try {
      if (this.#faults.chance(0.002)) picker.adopt(this.#plan());
      if (this.#faults.chance(0.002)) {
        picker.challenge(this.#plan(), {
          name: 'canary',
          takes: ({ bodyBytes }) => bodyBytes % 2 === 0,
          onThrown: this.#faults.mayThrow,
        });
      }
    } catch (error) {
      if (!String(error).includes('does not start')) throw error;
    }
    if (this.#faults.chance(0.002)) picker.withdraw();
  }

  #send(n: number): void {
    const request = makeRequest({
      id: `r${n}`,
      bodyBytes: n,
      promptTokens: 1 + this.#faults.below(5000),
      streaming: this.#faults.chance(0.8),
      ...(this.#faults.chance(0.1) && { mediaItems: 2 }),
    });
    let times = 0;
    const pick = (): void => {
      times += 1;
      if (times > 1) this.#twice += 1;
      this.#route(request);
    };
    if (this.#picker.prepare?.(request, BODY, pick) !== true) pick();
  }

  #route(request: InferenceRequest): void {
    const options = {
      firstTokenVisible: this.#faults.chance(0.7),
      endVisible: this.#faults.chance(0.8),
    };
    try {
      const destination = `10.0.0.${this.#faults.below(ENDPOINTS)}:8000`;
      const routed = this.#faults.chance(0.1)
        ? this.#picker.book(request, { destination }, options)
        : this.#picker.route(request, options);
      this.#decided += 1;
      // The gateway of some has vanished: nothing more is reported.
      if (this.#faults.chance(0.99)) this.#open.push(routed);
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      this.#refused += 1;
    }
  }

  /** Reports what becomes of one request, in any order and more than once. */
  #end(): void {
    const [routed] = this.#open.splice(this.#faults.below(this.#open.length), 1);
    if (routed === undefined) return;
    if (this.#faults.chance(0.1)) routed.bodyRead(routed.request);
    if (this.#faults.chance(0.1)) routed.served(`10.0.0.${this.#faults.below(2 * ENDPOINTS)}:8000`);
    const fails = routed.endpoint.id === this.#failing;
    if (!fails && this.#faults.chance(0.7)) routed.firstToken();
    if (this.#faults.chance(0.5)) routed.responseHeaders();
    if (this.#faults.chance(0.3)) routed.answered(NO_BLOCKS);
    const end = (): void => routed.done(fails ? 'failed' : this.#outcome(), this.#usage());
    end();
    if (this.#faults.chance(0.2)) end();
    if (this.#faults.chance(0.1)) routed.firstToken();
    if (this.#faults.chance(0.1)) routed.served(`10.0.0.${this.#faults.below(ENDPOINTS)}:8000`);
  }

  #outcome(): Outcome {
    if (this.#faults.chance(0.1)) return 'failed';
    return this.#faults.chance(0.3) ? 'aborted' : 'completed';
  }

  #usage(): Usage | undefined {
    if (this.#faults.chance(0.1)) return undefined;
    const count = (sound: number): number =>
      this.#faults.chance(0.02) ? this.#faults.badNumber() : sound;
    return { promptTokens: count(100), completionTokens: count(50), cachedTokens: count(0) };
  }

  #drift(): readonly string[] {
    const { pool, ledger } = this.#picker;
    return pool.snapshot().flatMap((endpoint: Endpoint) =>
      loadLeft(endpoint.id, {
        ...ledger.load(endpoint),
        models: ledger.models(endpoint).size,
      }),
    );
  }
}
