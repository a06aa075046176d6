import { EMBEDDED_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../../src/config/load.ts';
import type { EndpointId } from '../../../src/framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../../src/framework/endpoint-attributes.ts';
import { RoutingError } from '../../../src/framework/error.ts';
import type { RoutedRequest } from '../../../src/framework/routing.ts';
import type { Random } from '../../../src/framework/runtime.ts';
import type { CaptureRecord } from '../../../src/journal/capture/capture-record.ts';
import { recordOf } from '../../../src/journal/capture/record-of.ts';
import { inMicroseconds, startCapture } from '../../../src/journal/capture/start-capture.ts';
import { presetServer } from '../../../src/lab/simulate/pool-spec.ts';
import { withoutNetwork } from '../../../src/library/create-picker.ts';
import { DEFAULT_EJECTION, withEjection } from '../../../src/picker/ejection/ejection-plan.ts';
import { EndpointPicker } from '../../../src/picker/endpoint-picker.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { LORA_DEFAULTS } from '../../../stub-server/engine/lora-slots.ts';
import { makeRequest } from '../../makers.ts';
import { drawnBelow } from '../drawn.ts';
import { DEFAULT_CONFIG } from '../made-capture.ts';
import { LyingServer, type Manner } from './lying-server.ts';

export interface MemoryStorm {
  readonly seed: number;
  readonly requests: number;
  readonly servers: number;
  /** How all servers speak of themselves; each in another manner and in turn when left out. */
  readonly manner?: Manner;
  /** Servers stop and go on, end all that they do, leave the pool and come back. */
  readonly hasFaults?: boolean;
  /** Requests are for so many adapters, of which each server can run two at a time. */
  readonly adapters?: number;
  /** Requests are those of so many tenants; of one when left out. */
  readonly tenants?: number;
  /** The mean time between two requests; short by default, so that most wait. */
  readonly everyMs?: number;
  /**
   * The first server stops after a while, and goes on only long after the last request has come.
   */
  readonly hangs?: boolean;
}

export interface MemoryStormResult {
  readonly completed: number;
  readonly failed: number;
  readonly refused: number;
  /** Neither ended nor refused, however long the storm was waited for. */
  readonly lost: number;
  /** Requests that did not leave in the call in which they came. */
  readonly waited: number;
  readonly longestWaitMs: number;
  /** The longest time for which requests waited while nothing waited at any server of the pool. */
  readonly longestIdleMs: number;
  /** Requests that were sent to servers that had stopped. */
  readonly stuck: number;
  readonly lastedMs: number;
  readonly capture: readonly CaptureRecord[];
}

const KV_TOKENS = 30_000;
const BLOCK_TOKENS = 16;
const SCRAPE_MS = 50;
const LORAS = { ...LORA_DEFAULTS, slots: 2, hostSlots: 8 };
const SEED = 11;
/** Requests end long before this. */
const GIVE_UP_MS = 3_600_000;

/** More requests than servers with little memory can begin, through a captured picker. */
export function memoryStorm(options: MemoryStorm): MemoryStormResult {
  return new Storm(options).run();
}

class Storm {
  readonly #options: MemoryStorm;
  readonly #clock = new SimulatedClock();
  readonly #random: Random;
  readonly #picker: EndpointPicker;
  readonly #servers: readonly LyingServer[];
  readonly #present: boolean[];
  readonly #text: string[] = [];
  readonly #open = new Set<number>();
  readonly #drain: () => void;
  #completed = 0;
  #failed = 0;
  #refused = 0;
  #waited = 0;
  #longestWaitMs = 0;
  #idleSince: number | undefined;
  #longestIdleMs = 0;

  constructor(options: MemoryStorm) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    const dataSources = EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork);
    const catalogue = { ...EMBEDDED_CATALOGUE, dataSources };
    const read = loadConfig({ text: DEFAULT_CONFIG, source: 'storm', catalogue });
    const plan = withEjection(read, DEFAULT_EJECTION);
    const network = { get: () => Promise.reject(new Error('none')) };
    const clock = inMicroseconds(this.#clock);
    const runtime = { clock, random: seededRandom(SEED), network };
    const { picker, capture } = startCapture(
      { plan, seed: SEED },
      (subscriber) => new EndpointPicker({ plan, runtime, subscribers: [subscriber] }),
    );
    this.#picker = picker;
    capture.listen((bytes) => void this.#text.push(new TextDecoder().decode(bytes)));
    this.#text.push(`${JSON.stringify(capture.head(0))}\n`);
    this.#drain = () => capture.drain();
    const preset = { ...presetServer('llama-3.1-8b-h100'), jitter: 0, labels: {} };
    this.#servers = Array.from({ length: options.servers }, (_, n) => {
      const loras = options.adapters === undefined ? {} : { loras: LORAS };
      const spec = { ...preset, ...loras, id: `e${n}`, kvTokens: KV_TOKENS };
      const random = this.#random.fork(spec.id);
      const parts = { clock: this.#clock, random, blockTokens: BLOCK_TOKENS };
      return new LyingServer(spec, parts, options.manner);
    });
    this.#present = this.#servers.map(() => false);
  }

  run(): MemoryStormResult {
    const { requests, hasFaults = false, everyMs = 40, hangs = false } = this.#options;
    for (let n = 0; n < this.#servers.length; n++) {
      this.#add(n);
      this.#scrape(n);
    }
    let at = 0;
    for (let n = 0; n < requests; n++) {
      at += -everyMs * Math.log(1 - this.#random.next());
      this.#open.add(n);
      this.#clock.setTimer(at, () => this.#send(n));
    }
    if (hasFaults) this.#faults(at);
    if (hangs) this.#hang(at);
    this.#watch();
    while (this.#open.size > 0 && this.#clock.now() < GIVE_UP_MS) this.#clock.step();
    this.#picker.stop();
    this.#drain();
    return {
      completed: this.#completed,
      failed: this.#failed,
      refused: this.#refused,
      lost: this.#open.size,
      waited: this.#waited,
      longestWaitMs: this.#longestWaitMs,
      longestIdleMs: this.#longestIdleMs,
      stuck: this.#servers.reduce((sum, { gotStopped }) => sum + gotStopped, 0),
      lastedMs: this.#clock.now(),
      capture: this.#text.join('').trimEnd().split('\n').map(recordOf),
    };
  }

  #send(n: number): void {
    const draw = (below: number): number => drawnBelow(this.#random, below);
    const { adapters, tenants } = this.#options;
    const request = makeRequest({
      id: `r${n}`,
      promptTokens: 100 + draw(4000),
      streaming: true,
      ...(tenants !== undefined && { fairnessId: `tenant-${draw(tenants)}` }),
      ...(adapters !== undefined && { model: `adapter-${draw(adapters)}` }),
    });
    const outputTokens = 50 + draw(600);
    const since = this.#clock.now();
    const placed = (routed: RoutedRequest): void => {
      this.#longestWaitMs = Math.max(this.#longestWaitMs, this.#clock.now() - since);
      this.#begin(n, routed, outputTokens);
    };
    const refused = (error: unknown): void => {
      if (!(error instanceof RoutingError)) throw error;
      this.#refused += 1;
      this.#open.delete(n);
    };
    try {
      const seen = { firstTokenVisible: true };
      const routed = this.#picker.enqueue?.(request, seen, { placed, refused });
      if (routed === undefined) this.#waited += 1;
      else placed(routed);
    } catch (error) {
      refused(error);
    }
  }

  #begin(n: number, routed: RoutedRequest, outputTokens: number): void {
    const server = this.#servers[Number(routed.endpoint.id.slice(1))] as LyingServer;
    server.submit({
      promptTokens: routed.request.promptTokens,
      outputTokens,
      blockHashes: new Float64Array(),
      ...(server.spec.loras && { lora: routed.request.model }),
      onFirstToken: () => routed.firstToken(),
      onDone: (reason) => {
        const isFailed = reason === 'error';
        this.#open.delete(n);
        if (isFailed) this.#failed += 1;
        else this.#completed += 1;
        routed.done(isFailed ? 'failed' : 'completed');
      },
    });
  }

  #add(n: number): void {
    const id = `e${n}` as EndpointId;
    this.#picker.pool.upsert({ id, address: `10.0.0.${n}:8000`, labels: new Map() });
    const blocks = Math.floor(KV_TOKENS / BLOCK_TOKENS);
    this.#picker.pool.set(id, CACHE_CONFIG, { blockTokens: BLOCK_TOKENS, blocks });
    this.#present[n] = true;
  }

  #scrape(n: number): void {
    const sample = this.#servers[n]?.sample();
    const sampledAt = this.#picker.clock.now();
    if (sample !== undefined && this.#present[n] === true) {
      const { lora, ...metrics } = sample;
      const id = `e${n}` as EndpointId;
      this.#picker.pool.observe(id, { ...metrics, sampledAt });
      if (lora !== undefined) this.#picker.pool.set(id, LORA, lora);
    }
    this.#clock.setTimer(SCRAPE_MS, () => this.#scrape(n));
  }

  /** Each server in turn has something every second or so, as long as requests come. */
  #faults(untilMs: number): void {
    for (let at = 0; at < untilMs; at += 1000 + 2000 * this.#random.next()) {
      const n = drawnBelow(this.#random, this.#servers.length);
      const forMs = 20_000 * this.#random.next();
      const server = this.#servers[n] as LyingServer;
      const kind = this.#random.next();
      this.#clock.setTimer(at, () => {
        if (kind < 0.3) server.stop();
        else if (kind < 0.6) server.crash();
        else if (this.#present[n] === true) {
          this.#picker.pool.remove(`e${n}` as EndpointId);
          this.#present[n] = false;
        }
      });
      this.#clock.setTimer(at + forMs, () => {
        server.goOn();
        if (this.#present[n] !== true) this.#add(n);
      });
    }
  }

  #hang(untilMs: number): void {
    const [first] = this.#servers;
    this.#clock.setTimer(untilMs / 10, () => first?.stop());
    this.#clock.setTimer(untilMs + GIVE_UP_MS / 10, () => first?.goOn());
  }

  /** Looks ten times a second whether the pool is idle although requests wait. */
  #watch(): void {
    const { pool, ledger, waiting } = this.#picker;
    const now = this.#clock.now();
    const isBusy = pool.snapshot().some((each) => ledger.pendingRequests(each) > 0);
    if (waiting.requests === 0 || isBusy) this.#idleSince = undefined;
    else {
      this.#idleSince ??= now;
      this.#longestIdleMs = Math.max(this.#longestIdleMs, now - this.#idleSince);
    }
    this.#clock.setTimer(100, () => this.#watch());
  }
}
