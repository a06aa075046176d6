import type { RoutedRequest } from '../../../src/framework/routing.ts';
import { createPicker } from '../../../src/index.ts';
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

/**
 * Many requests at few places, in random order with ends, first tokens, kills, removals and returns
 * of endpoints. What is in flight is counted here, apart from the picker's own count: at the
 * servers, which a removal from the pool does not empty.
 */
export function runCapacityStorm({ seed, picks, waits }: CapacityStorm): StormResult {
  const random = seededRandom(seed);
  const clock = new SimulatedClock();
  const picker = createPicker({ config: configOf(waits), seed, clock });
  const limits = Array.from({ length: ENDPOINTS }, (_, n) => (n % 2 === 0 ? LIMIT : LABELLED));
  const inFlight: Set<RoutedRequest>[] = limits.map(() => new Set());
  const present = limits.map(() => false);
  const count = { overshot: 0, placed: 0, refused: 0, waited: 0 };
  const open = new Set<number>();
  const indexOf = ({ endpoint }: RoutedRequest): number => Number(endpoint.id.slice(1));
  const add = (n: number): void => {
    const labels = { ...(n % 2 === 1 && { limit: String(LABELLED) }) };
    picker.addEndpoint({ id: `e${n}`, address: `10.0.0.${n}:8000`, labels });
    present[n] = true;
  };
  const send = (number: number): void => {
    open.add(number);
    const end = (): boolean => open.delete(number);
    const placed = (routed: RoutedRequest): void => {
      if (end()) count.placed += 1;
      const there = inFlight[indexOf(routed)] as Set<RoutedRequest>;
      there.add(routed);
      if (there.size > (limits[indexOf(routed)] ?? 0)) count.overshot += 1;
    };
    const refused = (): void => {
      if (end()) count.refused += 1;
    };
    const promptTokens = 1 + Math.floor(random.next() * 4000);
    try {
      const routed = picker.enqueueWith({ model: 'm', promptTokens }, { placed, refused });
      if (routed === undefined) count.waited += 1;
      else placed(routed);
    } catch {
      refused();
    }
  };
  const finishOne = (n: number, outcome: 'completed' | 'failed'): void => {
    const there = inFlight[n] as Set<RoutedRequest>;
    const [first] = there;
    if (first === undefined) return;
    there.delete(first);
    if (random.next() < 0.8) first.firstToken();
    first.done(outcome);
  };
  const kill = (n: number): void => {
    while ((inFlight[n] as Set<RoutedRequest>).size > 0) finishOne(n, 'failed');
  };
  for (let n = 0; n < ENDPOINTS; n++) add(n);
  for (let sent = 0; sent < picks; ) {
    const n = Math.floor(random.next() * ENDPOINTS);
    const drawn = random.next();
    clock.advanceTo(clock.now() + random.next() * 5);
    if (drawn < 0.5) send(sent++);
    else if (drawn < 0.98) finishOne(n, 'completed');
    else if (drawn < 0.985) kill(n);
    else if (!present[n]) add(n);
    else if (drawn < 0.99) {
      picker.removeEndpoint(`e${n}`);
      present[n] = false;
    }
  }
  for (let n = 0; n < ENDPOINTS; n++) if (!present[n]) add(n);
  // What is placed at the end of another request may be in front of the loop again.
  for (let rounds = 0; open.size > 0 && rounds < picks; rounds++) {
    clock.advanceTo(clock.now() + 5);
    for (let n = 0; n < ENDPOINTS; n++) finishOne(n, 'completed');
  }
  picker.stop();
  return { ...count, lost: open.size + picks - count.placed - count.refused };
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
