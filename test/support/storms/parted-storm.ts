import type { EndpointId } from '../../../src/framework/endpoint.ts';
import type { RoutedRequest } from '../../../src/framework/routing.ts';
import { createPicker, type EmbeddedPicker } from '../../../src/index.ts';
import { SimulatedNetwork } from '../../../src/replicas/links/simulated-network.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';

export interface PartedStorm {
  readonly seed: number;
  readonly picks: number;
  readonly pickers: number;
  /** Whether each picker uses its part only. Else each has the whole capacity. */
  readonly hasParts: boolean;
}

export interface PartedResult {
  /** Requests that a server got beyond its capacity. */
  readonly overshot: number;
  readonly placed: number;
  readonly refused: number;
  /** The most requests at one server. */
  readonly most: number;
}

const ENDPOINTS = 5;
/** Not divisible among three or four pickers. */
const CAPACITY = 7;
const DELAY_MS = 3;

/**
 * Requests at random pickers that share what they do over one pool, while pickers are killed and
 * started again, and cut off from the others. What is in flight is counted here, at the servers.
 */
export function runPartedStorm({ seed, picks, pickers, hasParts }: PartedStorm): PartedResult {
  const random = seededRandom(seed);
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: DELAY_MS });
  const below = (bound: number): number => Math.floor(random.next() * bound);
  const start = (number: number): EmbeddedPicker => {
    const config = configOf(hasParts ? `, part: {number: ${number + 1}, of: ${pickers}}` : '');
    const replica = { id: `p${number}`, openLink: network.open };
    const picker = createPicker({ config, seed: below(2 ** 30), clock, replica });
    for (let n = 0; n < ENDPOINTS; n++) {
      picker.addEndpoint({ id: `e${n}`, address: `10.0.0.${n}:8000` });
    }
    return picker;
  };
  const all = Array.from({ length: pickers }, (_, number) => start(number));
  /** Requests in flight, and the picker of each. */
  const open = new Map<RoutedRequest, number>();
  const at = new Map<EndpointId, number>();
  const count = { overshot: 0, placed: 0, refused: 0, most: 0 };

  const send = (number: number): void => {
    try {
      const routed = all[number]?.route({ model: 'm', promptTokens: 1 + below(4000) });
      if (routed === undefined) return;
      open.set(routed, number);
      const there = (at.get(routed.endpoint.id) ?? 0) + 1;
      at.set(routed.endpoint.id, there);
      count.placed += 1;
      count.most = Math.max(count.most, there);
      if (there > CAPACITY) count.overshot += 1;
    } catch {
      count.refused += 1;
    }
  };
  const leave = (routed: RoutedRequest): void => {
    open.delete(routed);
    at.set(routed.endpoint.id, (at.get(routed.endpoint.id) ?? 0) - 1);
  };
  const finish = (): void => {
    const [routed] = open.keys();
    if (routed === undefined) return;
    leave(routed);
    routed.firstToken();
    routed.done('completed');
  };
  /** The gateway's streams end with their picker, and the servers' work with these. */
  const kill = (number: number): void => {
    network.cut(`p${number}`);
    for (const [routed, owner] of open) if (owner === number) leave(routed);
    all[number]?.stop();
    network.reconnect(`p${number}`);
    all[number] = start(number);
  };

  for (let sent = 0; sent < picks; ) {
    clock.advanceTo(clock.now() + random.next() * 2);
    const drawn = random.next();
    const number = below(pickers);
    if (drawn < 0.55) {
      send(number);
      sent += 1;
    } else if (drawn < 0.998) finish();
    else if (drawn < 0.999) kill(number);
    else if (random.next() < 0.5) network.cut(`p${number}`);
    else network.reconnect(`p${number}`);
  }
  for (const picker of all) picker.stop();
  return count;
}

function configOf(part: string): string {
  return `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: token-load-scorer}]
schedulingProfiles: [{name: default, plugins: [{pluginRef: token-load-scorer}]}]
capacity: {maxConcurrency: ${CAPACITY}${part}}
`;
}
