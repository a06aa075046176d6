import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import { CACHE_CONFIG, LORA } from '../../src/framework/attributes.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { RoutingError } from '../../src/framework/error.ts';
import type { PromptBlocks } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import {
  type CapturedDecision,
  type CaptureRecord,
} from '../../src/journal/capture/capture-record.ts';
import { recordOf } from '../../src/journal/capture/record-of.ts';
import { inMicroseconds, startCapture } from '../../src/journal/capture/start-capture.ts';
import { type RunOptions, type RunRedecision, redecide } from '../../src/lab/redecide/redecide.ts';
import { withoutNetwork } from '../../src/library/create-picker.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest } from '../makers.ts';

export const SEED: number = 11;
export const DEFAULT_CONFIG: string = NAMED_CONFIGS.get('default') ?? '';

/**
 * A clock whose time passes by itself, as a real one does, and whose timers come late at random.
 */
function realistic(clock: SimulatedClock, random: ReturnType<typeof seededRandom>) {
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
function headersOf(random: ReturnType<typeof seededRandom>): ReadonlyMap<string, string> {
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
    churn = 1,
    failing,
    tokensPerBlock = 64,
    commonBlocks = 6,
    tenants = 8,
    openMax = 40,
  }: {
    readonly coreSeed?: number;
    readonly churn?: number;
    readonly failing?: string;
    /** More than 64: prompts are so long that requests wait for their endpoints. */
    readonly tokensPerBlock?: number;
    /** With which all prompts of a family begin. */
    readonly commonBlocks?: number;
    /** At most 8. With fewer, one of them sends more than the others. */
    readonly tenants?: number;
    /** The most requests in flight. */
    readonly openMax?: number;
  } = {},
): readonly CaptureRecord[] {
  const inert = {
    ...EMBEDDED_CATALOGUE,
    dataSources: EMBEDDED_CATALOGUE.dataSources.map(withoutNetwork),
  };
  const plans = [configs].flat().map((config) => {
    const text = NAMED_CONFIGS.get(config) ?? config;
    return loadConfig({ text, source: config, catalogue: inert });
  });
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
  const add = (at: number): void => {
    const id = `e${at}` as EndpointId;
    const labels = new Map([['zone', String(at % 3)]]);
    picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels });
    picker.pool.set(id, CACHE_CONFIG, { blockTokens: 16, blocks: 2000 });
  };
  for (let at = 0; at < 12; at++) add(at);
  const conversations = new Map<number, PromptBlocks>();
  const open: RoutedRequest[] = [];
  for (let n = 0; n < requests; n++) {
    // Time passes only between events.
    const until = simulated.now() + 5;
    simulated.setTimer(5, () => undefined);
    while (simulated.step(until)) continue;
    const turn = plans[(n / TURN_REQUESTS) % plans.length];
    if (plans.length > 1 && n > 0 && turn !== undefined) picker.adopt(turn);
    for (let at = 0; at < 12; at++) {
      if (random.next() > 0.3) continue;
      const id = `e${at}` as EndpointId;
      picker.pool.observe(id, {
        waitingQueueSize: Math.floor(random.next() * 5),
        runningRequests: Math.floor(random.next() * 30),
        kvCacheUsage: random.next(),
        sampledAt: clock.now(),
      });
      if (random.next() < 0.05) {
        picker.pool.set(id, LORA, { running: new Set(['m1']), waiting: new Set<string>(), max: 2 });
      }
    }
    if (random.next() < 0.01 * churn) picker.pool.remove(`e${n % 12}` as EndpointId);
    if (random.next() < 0.02 * churn) add(n % 12);
    const family = Math.floor(random.next() * 8);
    const blocks = 1 + Math.floor(random.next() * 20);
    const ids = Array.from({ length: blocks }, (_, at) =>
      at < commonBlocks ? `${family}-${at}` : `${n}-${at}`,
    );
    const prompt = chainBlockIds(ids, { seedText: 'secret', blockTokens: 64 });
    // What may be answered to prompts with the same beginning.
    if (blocks > 6) conversations.set(prompt.words[0] ?? 0, { ...prompt, count: 6 });
    const request = makeRequest({
      id: `r${n}`,
      model: `m${family % 2}`,
      fairnessId: `tenant ${Math.max(0, family - 8 + tenants)}`,
      streaming: random.next() < 0.7,
      promptTokens: tokensPerBlock * blocks + 7,
      headers: headersOf(headerRandom),
      prompt,
    });
    try {
      const seen = { firstTokenVisible: true, endVisible: random.next() < 0.9 };
      const placed = (routed: RoutedRequest): void => void open.push(routed);
      const placement = { placed, refused: () => undefined };
      const routed =
        picker.enqueue === undefined
          ? picker.route(request, seen)
          : picker.enqueue(request, seen, placement);
      if (routed !== undefined) placed(routed);
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
    }
    while (open.length > openMax * random.next()) {
      const [routed] = open.splice(Math.floor(random.next() * open.length), 1);
      if (random.next() < 0.8) routed?.firstToken();
      if (random.next() < 0.05) routed?.served(`10.0.0.${Math.floor(random.next() * 12)}:8000`);
      const [first = 0] = routed?.request.prompt.words ?? [];
      const learned = conversations.get(first);
      if (learned !== undefined && random.next() < 0.3) routed?.answered(learned);
      const usage = { promptTokens: 500, completionTokens: 30, cachedTokens: 100 };
      const works = random.next() < 0.9 && routed?.endpoint.id !== failing;
      routed?.done(works ? 'completed' : 'failed', usage);
    }
    while (simulated.step(simulated.now() + 4 * random.next())) continue;
  }
  picker.stop();
  recorder.drain();
  return text.join('').trimEnd().split('\n').map(recordOf);
}

/** They decide a capture by its own configuration. */
export const REDECIDE_OPTIONS: RunOptions = {
  catalogue: EMBEDDED_CATALOGUE,
  randomOf: seededRandom,
};

export async function redecideAll(
  ...given: Parameters<typeof redecide>
): Promise<readonly RunRedecision[]> {
  const decided: RunRedecision[] = [];
  for await (const each of redecide(...given)) decided.push(each);
  return decided;
}

export const sameEndpoint = (a: CapturedDecision, b: CapturedDecision): boolean =>
  'endpoint' in a && 'endpoint' in b && a.endpoint === b.endpoint;
