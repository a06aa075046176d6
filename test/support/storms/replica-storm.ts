import type { EndpointId } from '../../../src/framework/endpoint.ts';
import type { Outcome } from '../../../src/framework/observer.ts';
import type { Placement, RoutedRequest } from '../../../src/framework/routing.ts';
import type { Millis, Random } from '../../../src/framework/runtime.ts';
import { SimulatedNetwork } from '../../../src/replicas/links/simulated-network.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { blocksOf, requestOf, type SharedPicker, startPicker } from '../../replicas/pickers.ts';
import { drawnBelow } from '../drawn.ts';
import { UnsteadyClock } from '../unsteady-clock.ts';
import { loadLeft } from './load-left.ts';

export interface ReplicaStormOptions {
  readonly requests: number;
  readonly pace: UnsteadyClock['pace'];
}

export interface ReplicaStorm {
  readonly placed: number;
  readonly waited: number;
  /** Events of other replicas that were applied. */
  readonly applied: number;
  /** What must not be: one sentence each. */
  readonly faults: readonly string[];
}

const REPLICAS = 3;
const ENDPOINTS = 2;
const OUTCOMES: readonly Outcome[] = ['completed', 'completed', 'completed', 'failed', 'aborted'];
const seen = { firstTokenVisible: true };

/**
 * Replicas that share what they do over a network that loses, repeats and reorders messages, and
 * cuts replicas off, in time that passes unsteadily. Replicas end, with and without a goodbye, and
 * start again.
 */
export function replicaStorm(seed: number, options: ReplicaStormOptions): Promise<ReplicaStorm> {
  return new RunningStorm(seed, options).run();
}

/** One request: how often it was placed or refused, and whether its client still waits. */
interface Sent {
  readonly id: string;
  answers: number;
  isCancelled: boolean;
}

class RunningStorm {
  readonly #options: ReplicaStormOptions;
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  readonly #network: SimulatedNetwork;
  readonly #replicas: SharedPicker[] = [];
  readonly #sent: Sent[] = [];
  readonly #faults: string[] = [];
  #isCalm = false;
  #boots = 1;
  #placed = 0;
  #waited = 0;
  #applied = 0;

  constructor(seed: number, options: ReplicaStormOptions) {
    this.#options = options;
    this.#random = seededRandom(seed);
    this.#clock = new UnsteadyClock(this.#random.fork('clock'), {
      knowsCpuTime: seed % 4 > 0,
    });
    this.#clock.pace = options.pace;
    const delays = (): readonly Millis[] => this.#delays();
    this.#network = new SimulatedNetwork({ clock: this.#clock, delayMs: 1, delays });
    for (let at = 0; at < REPLICAS; at++) this.#start(at);
  }

  async run(): Promise<ReplicaStorm> {
    for (let n = 0; n < this.#options.requests; n++) {
      await this.#changeSomething(n);
      this.#send(n);
      if (this.#chance(0.25)) this.#clock.advanceBy(80 * this.#random.next());
    }
    this.#settle();
    const peers = this.#replicas.flatMap(({ replica }) => replica.status().peers);
    for (const { events } of peers) this.#applied += events;
    await Promise.all(this.#replicas.map((each) => each.stop()));
    // Their last messages are on the way.
    this.#clock.advanceBy(1000);
    if (this.#clock.pending > 0) this.#faults.push(`${this.#clock.pending} timers are left`);
    const [placed, waited, applied] = [this.#placed, this.#waited, this.#applied];
    return { placed, waited, applied, faults: this.#faults };
  }

  /** Nothing comes any more, and all messages arrive: each replica must know that nothing is left. */
  #settle(): void {
    this.#isCalm = true;
    if (this.#clock.pace !== 'still') this.#clock.pace = 'steady';
    for (let at = 0; at < REPLICAS; at++) this.#network.reconnect(`p${at}`);
    for (let second = 0; second < 60; second++) {
      this.#sample();
      this.#clock.advanceBy(1000);
    }
    for (const { id, answers, isCancelled } of this.#sent) {
      if (answers > 1 || (answers === 0 && !isCancelled)) {
        this.#faults.push(`${id} has ${answers} answers`);
      }
    }
    for (const each of this.#replicas) this.#checkNothingLeft(each);
  }

  #checkNothingLeft({ picker, replica }: SharedPicker): void {
    const { id, open, peers } = replica.status();
    for (const endpoint of picker.pool.snapshot()) {
      this.#faults.push(...loadLeft(`${id}: ${endpoint.id}`, picker.ledger.load(endpoint)));
    }
    if (picker.waiting.requests > 0) this.#faults.push(`${id} keeps requests`);
    if (open > 0) this.#faults.push(`${id} says that ${open} requests are open`);
    if (peers.length !== REPLICAS - 1) this.#faults.push(`${id} knows ${peers.length} others`);
    for (const peer of peers) {
      if (peer.open > 0) this.#faults.push(`${id} has ${peer.open} requests of ${peer.id}`);
    }
    for (const { kind, call, name } of picker.faults.counts()) {
      this.#faults.push(`${id}: ${kind} ${name} failed in ${call}`);
    }
  }

  #send(n: number): void {
    const { picker } = this.#replicas[drawnBelow(this.#random, REPLICAS)] as SharedPicker;
    const id = `r${n}`;
    const request = requestOf(
      id,
      blocksOf(1 + drawnBelow(this.#random, 300), 1000 * drawnBelow(this.#random, 5)),
    );
    const sent: Sent = { id, answers: 0, isCancelled: false };
    this.#sent.push(sent);
    const placement: Placement = {
      placed: (routed) => this.#serve(sent, routed),
      refused: () => void (sent.answers += 1),
    };
    try {
      const routed = picker.enqueue?.(request, seen, placement);
      if (routed !== undefined) return this.#serve(sent, routed);
    } catch {
      sent.answers += 1;
      return;
    }
    this.#waited += 1;
    if (!this.#chance(0.1)) return;
    this.#clock.setTimer(drawnBelow(this.#random, 3000), () => {
      sent.isCancelled = true;
      picker.cancel(placement);
    });
  }

  /** Its server answers soon, late, in the call that places it, or never. */
  #serve(sent: Sent, routed: RoutedRequest): void {
    sent.answers += 1;
    this.#placed += 1;
    const fate = this.#random.next();
    const end = (): void => {
      const usage = {
        promptTokens: 100,
        cachedTokens: 0,
        completionTokens: drawnBelow(this.#random, 200),
      };
      routed.done(OUTCOMES[drawnBelow(this.#random, OUTCOMES.length)] as Outcome, usage);
    };
    if (fate < 0.05) return end();
    if (fate < 0.1) routed.served(`10.0.0.${drawnBelow(this.#random, ENDPOINTS)}:8000`);
    this.#clock.setTimer((fate > 0.9 ? 6000 : 500) * this.#random.next(), () => {
      routed.firstToken();
      this.#clock.setTimer(2000 * this.#random.next(), end);
    });
  }

  async #changeSomething(n: number): Promise<void> {
    if (this.#chance(0.2)) this.#sample();
    if (this.#chance(0.02)) this.#cutOrReconnect(`p${drawnBelow(this.#random, REPLICAS)}`);
    if (this.#chance(0.002)) this.#clock.pass(20_000);
    if (this.#chance(0.01)) await this.#restart(n % REPLICAS);
    if (this.#chance(0.01)) this.#changePool();
  }

  #cutOrReconnect(id: string): void {
    if (this.#chance(0.5)) this.#network.cut(id);
    else this.#network.reconnect(id);
  }

  async #restart(at: number): Promise<void> {
    const before = this.#replicas[at];
    // One that is cut off cannot say goodbye.
    if (this.#chance(0.5)) this.#network.cut(`p${at}`);
    await before?.stop();
    this.#network.reconnect(`p${at}`);
    this.#start(at);
  }

  #start(at: number): void {
    const { open: openLink } = this.#network;
    const parts = { clock: this.#clock, openLink, endpoints: ENDPOINTS, boot: this.#boots++ };
    this.#replicas[at] = startPicker(`p${at}`, parts);
  }

  #changePool(): void {
    const { picker } = this.#replicas[drawnBelow(this.#random, REPLICAS)] as SharedPicker;
    const address = `10.0.0.${drawnBelow(this.#random, ENDPOINTS)}:8000`;
    const id = address as EndpointId;
    if (picker.pool.get(id) !== undefined) picker.pool.remove(id);
    else picker.pool.upsert({ id, address, labels: new Map() });
  }

  #sample(): void {
    for (const { picker } of this.#replicas) {
      for (const endpoint of picker.pool.snapshot()) {
        const { requests } = picker.ledger.load(endpoint);
        const load = { waitingQueueSize: 0, runningRequests: requests, kvCacheUsage: 0.3 };
        picker.pool.observe(endpoint.id, { ...load, sampledAt: this.#clock.now() });
      }
    }
  }

  #delays(): readonly Millis[] {
    if (this.#isCalm) return [1];
    if (this.#chance(0.05)) return [];
    const delay = (): Millis => (this.#chance(0.1) ? 400 : 5) * this.#random.next();
    return this.#chance(0.05) ? [delay(), delay()] : [delay()];
  }

  #chance(probability: number): boolean {
    return this.#random.next() < probability;
  }
}
