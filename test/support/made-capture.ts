import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId, EndpointMetrics } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../src/framework/endpoint-attributes.ts';
import { RoutingError } from '../../src/framework/error.ts';
import type { InferenceRequest, PromptBlocks } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import type { Clock, Random } from '../../src/framework/runtime.ts';
import { type CaptureRecord } from '../../src/journal/capture/capture-record.ts';
import { recordOf } from '../../src/journal/capture/record-of.ts';
import { inMicroseconds, startCapture } from '../../src/journal/capture/start-capture.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest } from '../makers.ts';

export const SEED: number = 11;
export const DEFAULT_CONFIG: string = NAMED_CONFIGS.get('default') ?? '';

/**
 * A clock whose time passes by itself, as a real one does, and whose timers come late at random.
 */
function realistic(clock: SimulatedClock, random: Random) {
  let drift = 0;
  return {
    now: () => {
      drift += random.next() / 1000;
      return clock.now() + drift;
    },
    wallTime: () => clock.wallTime(),
    setTimer: (delay: number, callback: () => void) =>
      clock.setTimer(delay + 3 * random.next(), callback),
  };
}

/** Headers that plugins may read: of sessions, endpoints, labels and profiles; and others. */
function headersOf(random: Random): ReadonlyMap<string, string> {
  const draw = (below: number): number => Math.floor(random.next() * below);
  const all: readonly (readonly [string, string])[] = [
    ['x-session-id', `private session ${draw(20)}`],
    ['x-session-token', btoa(`e${draw(16)}`)],
    ['x-zone', ['0', '1', '2', 'private zone', ''][draw(5)] ?? ''],
    ['epp-profile', ['first', 'second', 'private profile'][draw(3)] ?? ''],
    ['test-epp-endpoint-selection', `10.0.0.${draw(12)}, private host, 10.0.0.${draw(12)}:8000`],
    ['authorization', 'private key'],
  ];
  return new Map(all.filter(() => random.next() < 0.8));
}

/** The number of requests after which configurations take turns. */
const TURN_REQUESTS = 100;
const ENDPOINTS = 12;
const FAMILIES = 8;
/** Blocks of a prompt that an answer may add to. */
const ANSWERED_BLOCKS = 6;
const USAGE = { promptTokens: 500, completionTokens: 30, cachedTokens: 100 };

interface TrafficOptions {
  /** How often endpoints leave and come: 1 for now and then. */
  readonly churn?: number;
  /** The id of an endpoint whose requests all fail. */
  readonly failing?: string;
  /** More than 64: prompts are so long that requests wait for their endpoints. */
  readonly tokensPerBlock?: number;
  /** With which all prompts of a family begin. */
  readonly commonBlocks?: number;
  /** At most 8. With fewer, one of them sends more than the others. */
  readonly tenants?: number;
  /** The most requests in flight. */
  readonly openMax?: number;
  /** The share of requests that never end, as if their server had lost them. */
  readonly lost?: number;
  /** Servers run so many requests at a time, and report those that they have; else at random. */
  readonly sequencesMax?: number;
}

/**
 * Traffic of all kinds through a captured picker: its decisions and its inputs. Several
 * configurations take turns.
 */
export function madeCapture(
  configs: string | readonly string[],
  requests: number,
  seed: number,
  {
    coreSeed = SEED,
    watch,
    ...options
  }: TrafficOptions & {
    readonly coreSeed?: number;
    /** Called after each request. */
    readonly watch?: (picker: EndpointPicker) => void;
  } = {},
): readonly CaptureRecord[] {
  const plans = [configs].flat().map(inertPlan);
  const [plan] = plans;
  if (plan === undefined) throw new Error('no configuration');
  const random = seededRandom(seed);
  const headerRandom = random.fork('headers');
  const simulated = new SimulatedClock();
  const text: string[] = [];
  const network = { get: () => Promise.reject(new Error('none')) };
  const clock = inMicroseconds(realistic(simulated, random.fork('drift')));
  const runtime = { clock, random: seededRandom(coreSeed), network };
  const { picker, capture: recorder } = startCapture(
    { plan, seed: coreSeed },
    (subscriber) => new EndpointPicker({ plan, runtime, subscribers: [subscriber] }),
  );
  // As it would be read from a file.
  recorder.listen((bytes) => void text.push(new TextDecoder().decode(bytes)));
  text.push(`${JSON.stringify(recorder.head(0))}\n`);
  const traffic = new CapturedTraffic(picker, { clock, random, headerRandom }, options);
  for (let n = 0; n < requests; n++) {
    // Time passes only between events.
    const until = simulated.now() + 5;
    simulated.setTimer(5, () => undefined);
    while (simulated.step(until)) continue;
    const turn = plans[(n / TURN_REQUESTS) % plans.length];
    if (plans.length > 1 && n > 0 && turn !== undefined) picker.adopt(turn);
    traffic.changeEndpoints(n);
    traffic.send(n);
    traffic.endSome(n);
    watch?.(picker);
    while (simulated.step(simulated.now() + 4 * random.next())) continue;
  }
  picker.stop();
  recorder.drain();
  return text.join('').trimEnd().split('\n').map(recordOf);
}

/** The plan of a configuration, or of a built-in one by its name, that asks nothing of a network. */
function inertPlan(config: string): PickerPlan {
  const dataSources = EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork);
  return loadConfig({
    text: NAMED_CONFIGS.get(config) ?? config,
    source: config,
    catalogue: { ...EMBEDDED_CATALOGUE, dataSources },
  });
}

interface TrafficParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  /** Of the headers alone: a header more changes nothing else. */
  readonly headerRandom: Random;
}

function drawnLoad(random: Random): Omit<EndpointMetrics, 'sampledAt'> {
  return {
    waitingQueueSize: Math.floor(random.next() * 5),
    runningRequests: Math.floor(random.next() * 30),
    kvCacheUsage: random.next(),
  };
}

/** Endpoints, and requests to them, that do all that a picker can meet, at random. */
class CapturedTraffic {
  readonly #picker: EndpointPicker;
  readonly #parts: TrafficParts;
  readonly #options: Required<Omit<TrafficOptions, 'failing'>> & Pick<TrafficOptions, 'failing'>;
  /** What may be answered to prompts, by their first block. */
  readonly #conversations = new Map<number, PromptBlocks>();
  readonly #open: RoutedRequest[] = [];

  constructor(picker: EndpointPicker, parts: TrafficParts, options: TrafficOptions) {
    this.#picker = picker;
    this.#parts = parts;
    const usual = { churn: 1, tokensPerBlock: 64, commonBlocks: 6, tenants: 8, openMax: 40 };
    this.#options = { ...usual, lost: 0, sequencesMax: 0, ...options };
    for (let at = 0; at < ENDPOINTS; at++) this.#add(at);
  }

  /** Some endpoints report, and one may leave or come before request `n`. */
  changeEndpoints(n: number): void {
    const { pool } = this.#picker;
    const { random, clock } = this.#parts;
    const { churn } = this.#options;
    for (let at = 0; at < ENDPOINTS; at++) {
      if (random.next() > 0.3) continue;
      const id = `e${at}` as EndpointId;
      const load = this.#options.sequencesMax > 0 ? this.#runningAt(id) : drawnLoad(random);
      pool.observe(id, { ...load, sampledAt: clock.now() });
      if (random.next() < 0.05) {
        pool.set(id, LORA, { running: new Set(['m1']), waiting: new Set<string>(), max: 2 });
      }
    }
    if (random.next() < 0.01 * churn) pool.remove(`e${n % ENDPOINTS}` as EndpointId);
    if (random.next() < 0.02 * churn) this.#add(n % ENDPOINTS);
  }

  /** What a server has, which begins the oldest of its requests first. */
  #runningAt(id: EndpointId): Omit<EndpointMetrics, 'sampledAt'> {
    const open = this.#open.filter(({ endpoint }) => endpoint.id === id);
    const running = open.slice(0, this.#options.sequencesMax);
    for (const each of running) each.firstToken();
    const waitingQueueSize = open.length - running.length;
    return { waitingQueueSize, runningRequests: running.length, kvCacheUsage: 0.1 };
  }

  /** Sends request `n`. */
  send(n: number): void {
    const request = this.#request(n);
    const placed = (routed: RoutedRequest): void => void this.#open.push(routed);
    try {
      const seen = { firstTokenVisible: true, endVisible: this.#parts.random.next() < 0.9 };
      const placement = { placed, refused: () => undefined };
      const routed =
        this.#picker.enqueue === undefined
          ? this.#picker.route(request, seen)
          : this.#picker.enqueue(request, seen, placement);
      if (routed !== undefined) placed(routed);
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
    }
  }

  /** Ends requests, after request `n`, until no more than a drawn number are open. */
  endSome(n: number): void {
    const { random } = this.#parts;
    const { tokensPerBlock, openMax, lost } = this.#options;
    while (this.#open.length > openMax * random.next()) {
      const [routed] = this.#open.splice(Math.floor(random.next() * this.#open.length), 1);
      if (lost > 0 && random.next() < lost) continue;
      if (random.next() < 0.8) routed?.firstToken();
      if (random.next() < 0.05) {
        routed?.served(`10.0.0.${Math.floor(random.next() * ENDPOINTS)}:8000`);
      }
      const [first = 0] = routed?.request.prompt.words ?? [];
      const learned = this.#conversations.get(first);
      if (learned !== undefined && random.next() < 0.3) routed?.answered(learned);
      // With usual blocks one is more than an answer takes with its prompt, one less: that one is
      // believed only until such an answer ends.
      if (n % 20 === 0) routed?.windowReported?.(tokensPerBlock * (n % 40 === 0 ? 11 : 6));
      const works = random.next() < 0.9 && routed?.endpoint.id !== this.#options.failing;
      routed?.done(works ? 'completed' : 'failed', USAGE);
    }
  }

  #add(at: number): void {
    const id = `e${at}` as EndpointId;
    const labels = new Map([['zone', String(at % 3)]]);
    this.#picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels });
    this.#picker.pool.set(id, CACHE_CONFIG, { blockTokens: 16, blocks: 2000 });
  }

  #request(n: number): InferenceRequest {
    const { random, headerRandom } = this.#parts;
    const { commonBlocks, tenants, tokensPerBlock } = this.#options;
    const family = Math.floor(random.next() * FAMILIES);
    const blocks = 1 + Math.floor(random.next() * 20);
    const ids = Array.from({ length: blocks }, (_, at) =>
      at < commonBlocks ? `${family}-${at}` : `${n}-${at}`,
    );
    const prompt = chainBlockIds(ids, { seedText: 'secret', blockTokens: 64 });
    if (blocks > ANSWERED_BLOCKS) {
      this.#conversations.set(prompt.words[0] ?? 0, { ...prompt, count: ANSWERED_BLOCKS });
    }
    return makeRequest({
      id: `r${n}`,
      model: `m${family % 2}`,
      fairnessId: `tenant ${Math.max(0, family - FAMILIES + tenants)}`,
      streaming: random.next() < 0.7,
      promptTokens: tokensPerBlock * blocks + 7,
      headers: headersOf(headerRandom),
      prompt,
    });
  }
}
