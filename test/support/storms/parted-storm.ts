import type { EndpointId } from '../../../src/framework/endpoint.ts';
import type { RoutedRequest } from '../../../src/framework/routing.ts';
import type { Random } from '../../../src/framework/runtime.ts';
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
export function runPartedStorm(storm: PartedStorm): PartedResult {
  const random = seededRandom(storm.seed);
  const pickers = new PartedPickers(storm, random);
  const { clock, network, count } = pickers;
  for (let sent = 0; sent < storm.picks; ) {
    clock.advanceTo(clock.now() + random.next() * 2);
    const drawn = random.next();
    const number = below(storm.pickers, random);
    if (drawn < 0.55) {
      pickers.send(number);
      sent += 1;
    } else if (drawn < 0.998) pickers.finish();
    else if (drawn < 0.999) pickers.kill(number);
    else if (random.next() < 0.5) network.cut(`p${number}`);
    else network.reconnect(`p${number}`);
  }
  pickers.stop();
  return count;
}

function below(bound: number, random: Random): number {
  return Math.floor(random.next() * bound);
}

/** Pickers of one pool, and its servers. */
class PartedPickers {
  readonly clock = new SimulatedClock();
  readonly network = new SimulatedNetwork({ clock: this.clock, delayMs: DELAY_MS });
  readonly count = { overshot: 0, placed: 0, refused: 0, most: 0 };
  readonly #storm: PartedStorm;
  readonly #random: Random;
  readonly #all: EmbeddedPicker[];
  /** Requests in flight, and the picker of each. */
  readonly #open = new Map<RoutedRequest, number>();
  readonly #at = new Map<EndpointId, number>();

  constructor(storm: PartedStorm, random: Random) {
    this.#storm = storm;
    this.#random = random;
    this.#all = Array.from({ length: storm.pickers }, (_, number) => this.#start(number));
  }

  send(number: number): void {
    const promptTokens = 1 + below(4000, this.#random);
    try {
      const routed = this.#all[number]?.route({ model: 'm', promptTokens });
      if (routed !== undefined) this.#arrived(routed, number);
    } catch {
      this.count.refused += 1;
    }
  }

  finish(): void {
    const [routed] = this.#open.keys();
    if (routed === undefined) return;
    this.#leave(routed);
    routed.firstToken();
    routed.done('completed');
  }

  /** The gateway's streams end with their picker, and the servers' work with these. */
  kill(number: number): void {
    this.network.cut(`p${number}`);
    for (const [routed, owner] of this.#open) if (owner === number) this.#leave(routed);
    this.#all[number]?.stop();
    this.network.reconnect(`p${number}`);
    this.#all[number] = this.#start(number);
  }

  stop(): void {
    for (const picker of this.#all) picker.stop();
  }

  #start(number: number): EmbeddedPicker {
    const { hasParts, pickers } = this.#storm;
    const config = configOf(hasParts ? `, part: {number: ${number + 1}, of: ${pickers}}` : '');
    const replica = { id: `p${number}`, openLink: this.network.open };
    const seed = below(2 ** 30, this.#random);
    const picker = createPicker({ config, seed, clock: this.clock, replica });
    for (let n = 0; n < ENDPOINTS; n++) {
      picker.addEndpoint({ id: `e${n}`, address: `10.0.0.${n}:8000` });
    }
    return picker;
  }

  #arrived(routed: RoutedRequest, number: number): void {
    const { id } = routed.endpoint;
    const there = (this.#at.get(id) ?? 0) + 1;
    this.#open.set(routed, number);
    this.#at.set(id, there);
    this.count.placed += 1;
    this.count.most = Math.max(this.count.most, there);
    if (there > CAPACITY) this.count.overshot += 1;
  }

  #leave(routed: RoutedRequest): void {
    const { id } = routed.endpoint;
    this.#open.delete(routed);
    this.#at.set(id, (this.#at.get(id) ?? 0) - 1);
  }
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
