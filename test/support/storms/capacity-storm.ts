import type { RoutedRequest } from '../../../src/framework/routing.ts';
import type { Random } from '../../../src/framework/runtime.ts';
import { createPicker, type EmbeddedPicker } from '../../../src/index.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';

export interface CapacityStorm {
  readonly seed: number;
  readonly picks: number;
  /** The configuration has `hold`: requests wait instead of being refused. */
  readonly waits: boolean;
}

export interface StormResult {
  readonly overshot: number;
  readonly placed: number;
  readonly refused: number;
  readonly waited: number;
  /** Requests that were neither placed nor refused, or were so twice. */
  readonly lost: number;
}

const ENDPOINTS = 6;
const LIMIT = 5;
/** The limit that a label gives to every second endpoint. */
const LABELLED = 3;
const LIMITS = Array.from({ length: ENDPOINTS }, (_, n) => (n % 2 === 0 ? LIMIT : LABELLED));

/**
 * Many requests at few places, in random order with ends, first tokens, kills, removals and returns
 * of endpoints. What is in flight is counted here, apart from the picker's own count: at the
 * servers, which a removal from the pool does not empty.
 */
export function runCapacityStorm({ seed, picks, waits }: CapacityStorm): StormResult {
  const random = seededRandom(seed);
  const pool = new LimitedPool(seed, waits, random);
  for (let sent = 0; sent < picks; ) {
    const n = Math.floor(random.next() * ENDPOINTS);
    const drawn = random.next();
    pool.clock.advanceTo(pool.clock.now() + random.next() * 5);
    if (drawn < 0.5) pool.send(sent++);
    else if (drawn < 0.98) pool.finishOne(n, 'completed');
    else if (drawn < 0.985) pool.kill(n);
    else if (!pool.present[n]) pool.add(n);
    else if (drawn < 0.99) pool.remove(n);
  }
  for (let n = 0; n < ENDPOINTS; n++) if (!pool.present[n]) pool.add(n);
  pool.finishAll(picks);
  pool.picker.stop();
  const { count, open } = pool;
  return { ...count, lost: open.size + picks - count.placed - count.refused };
}

/** A picker, and the servers of its pool. */
class LimitedPool {
  readonly clock = new SimulatedClock();
  readonly picker: EmbeddedPicker;
  /** Whether the pool has the endpoint. */
  readonly present = LIMITS.map(() => false);
  readonly count = { overshot: 0, placed: 0, refused: 0, waited: 0 };
  /** The numbers of the requests that are neither placed nor refused. */
  readonly open = new Set<number>();
  readonly #random: Random;
  readonly #inFlight: readonly Set<RoutedRequest>[] = LIMITS.map(() => new Set());

  constructor(seed: number, waits: boolean, random: Random) {
    this.#random = random;
    this.picker = createPicker({ config: configOf(waits), seed, clock: this.clock });
    for (let n = 0; n < ENDPOINTS; n++) this.add(n);
  }

  add(n: number): void {
    const labels = { ...(n % 2 === 1 && { limit: String(LABELLED) }) };
    this.picker.addEndpoint({ id: `e${n}`, address: `10.0.0.${n}:8000`, labels });
    this.present[n] = true;
  }

  remove(n: number): void {
    this.picker.removeEndpoint(`e${n}`);
    this.present[n] = false;
  }

  send(number: number): void {
    this.open.add(number);
    const placed = (routed: RoutedRequest): void => {
      if (this.open.delete(number)) this.count.placed += 1;
      this.#arrived(routed);
    };
    const refused = (): void => {
      if (this.open.delete(number)) this.count.refused += 1;
    };
    const promptTokens = 1 + Math.floor(this.#random.next() * 4000);
    try {
      const routed = this.picker.enqueueWith({ model: 'm', promptTokens }, { placed, refused });
      if (routed === undefined) this.count.waited += 1;
      else placed(routed);
    } catch {
      refused();
    }
  }

  finishOne(n: number, outcome: 'completed' | 'failed'): void {
    const there = this.#at(n);
    const [first] = there;
    if (first === undefined) return;
    there.delete(first);
    if (this.#random.next() < 0.8) first.firstToken();
    first.done(outcome);
  }

  kill(n: number): void {
    while (this.#at(n).size > 0) this.finishOne(n, 'failed');
  }

  finishAll(roundsMax: number): void {
    // What is placed at the end of another request may be in front of the loop again.
    for (let rounds = 0; this.open.size > 0 && rounds < roundsMax; rounds++) {
      this.clock.advanceTo(this.clock.now() + 5);
      for (let n = 0; n < ENDPOINTS; n++) this.finishOne(n, 'completed');
    }
  }

  #arrived(routed: RoutedRequest): void {
    const n = Number(routed.endpoint.id.slice(1));
    this.#at(n).add(routed);
    if (this.#at(n).size > (LIMITS[n] ?? 0)) this.count.overshot += 1;
  }

  #at(n: number): Set<RoutedRequest> {
    return this.#inFlight[n] as Set<RoutedRequest>;
  }
}

function configOf(waits: boolean): string {
  return `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: queue-scorer
  - type: token-load-scorer
schedulingProfiles:
  - name: default
    plugins: [{pluginRef: queue-scorer}, {pluginRef: token-load-scorer}]
capacity: {maxConcurrency: ${LIMIT}, maxConcurrencyLabel: limit}
hold: {enabled: ${waits}, maxRequests: 64}
ejection: {enabled: true}
`;
}
