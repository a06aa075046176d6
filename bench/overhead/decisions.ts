import { setTimeout as sleep } from 'node:timers/promises';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { Usage } from '../../src/framework/observer.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import type { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { EndpointPickerOptions } from '../../src/picker/endpoint-picker-options.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { plainRequest } from '../support/plain-request.ts';
import { quantile } from './compare.ts';

/**
 * The decision core alone, in this process: what something put around it adds to a request, where a
 * whole request's time differs by more from one second to the next, as on a machine with other
 * work.
 */

/** Makes a picker. `settle` is called at the end of a window and finishes what is still to do. */
export type MakePicker = (options: Pick<EndpointPickerOptions, 'plan' | 'runtime'>) => {
  readonly picker: EndpointPicker;
  readonly settle?: () => Promise<void>;
};

export interface Added {
  readonly endpoints: number;
  /**
   * CPU of all threads that a decision takes more; median and quartiles of the differences between
   * neighbours.
   */
  readonly addedMicros: { readonly median: number; readonly lower: number; readonly upper: number };
}

const SEED = 7;
const FAMILIES = 50;
const BLOCK_TOKENS = 64;
const IN_FLIGHT = 16;
const USAGE: Usage = { promptTokens: 211, completionTokens: 100, cachedTokens: undefined };
const ANSWER_BYTES = 311;
/** Servers are scraped twenty times a second, requests come by thousands. */
const DECISIONS_PER_SAMPLE = 8;
const WINDOW = 4000;
const PAIRS = 40;
const WARM_UP = 5;
const IDLE_MS = 3;
/** Larger than a core's own cache. A part of it is touched each time, a cache line at a time. */
const ELSEWHERE_BYTES = 1_572_864;
const TOUCHED_BYTES = 131_072;
const LINE_BYTES = 64;

export async function addedBy(
  without: MakePicker,
  having: MakePicker,
  endpoints: number,
): Promise<Added> {
  const plan = loadConfig({
    text: NAMED_CONFIGS.get('default') ?? '',
    source: 'bench',
    catalogue: EMBEDDED_CATALOGUE,
  });
  const bare = windowsOf(without, plan, endpoints);
  const more = windowsOf(having, plan, endpoints);
  const pairs: (readonly [number, number])[] = [];
  for (let pair = 0; pair < WARM_UP + PAIRS; pair++) {
    // A later window pays for garbage of the earlier one.
    const outer = [await bare()];
    const inner = [await more(), await more()];
    outer.push(await bare());
    if (pair >= WARM_UP) pairs.push([quantile(outer, 0.5), quantile(inner, 0.5)]);
  }
  const added = pairs.map(([less, more]) => more - less);
  return {
    endpoints,
    addedMicros: {
      median: quantile(added, 0.5),
      lower: quantile(added, 0.25),
      upper: quantile(added, 0.75),
    },
  };
}

/** Each call runs a window of decisions and gives CPU microseconds of one. */
function windowsOf(make: MakePicker, plan: PickerPlan, endpoints: number): () => Promise<number> {
  const simulated = new SimulatedClock();
  // Times have as many digits as they really have.
  const clock = {
    now: () => performance.now(),
    wallTime: () => simulated.wallTime(),
    setTimer: simulated.setTimer.bind(simulated),
  };
  const random = seededRandom(SEED);
  const network = { get: () => Promise.reject(new Error('no network in this bench')) };
  const { picker, settle } = make({ plan, runtime: { clock, random, network } });
  const ids = Array.from({ length: endpoints }, (_, at) => `10.0.${at >> 8}.${at & 255}:8000`);
  const chance = random.fork('bench');
  const sample = (id: string): void =>
    picker.pool.observe(id as EndpointId, {
      waitingQueueSize: Math.floor(chance.next() * 4),
      runningRequests: Math.floor(chance.next() * 64),
      kvCacheUsage: chance.next(),
      sampledAt: clock.now(),
    });
  for (const id of ids) {
    picker.pool.upsert({ id: id as EndpointId, address: id, labels: new Map() });
    sample(id);
  }
  const elsewhere = otherWork();
  const open: RoutedRequest[] = [];
  let turn = 0;
  const decide = (request: InferenceRequest): void => {
    if (turn % DECISIONS_PER_SAMPLE === 0)
      sample(ids[(turn / DECISIONS_PER_SAMPLE) % endpoints] ?? '');
    turn += 1;
    open.push(picker.route(request, { firstTokenVisible: true }));
    if (open.length <= IN_FLIGHT) return;
    open[IN_FLIGHT / 2]?.firstToken();
    const ended = open.shift();
    ended?.done('completed', USAGE, ANSWER_BYTES);
    // As Envoy resets its stream.
    ended?.done('aborted');
  };
  return async () => {
    // Prompts begin alike and end differently, so that tables grow as they do while serving.
    const requests = Array.from({ length: WINDOW }, (_, at) => requestOf(turn + at, chance.next()));
    const before = process.cpuUsage();
    for (const request of requests) {
      elsewhere();
      decide(request);
    }
    await settle?.();
    // What waits for the loop to be idle is done on both sides.
    await sleep(IDLE_MS);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / WINDOW;
  };
}

/**
 * A fetch of other code and data than the decision's, on both sides: between two decisions a picker
 * reads and writes frames, and what is added costs more where the processor's caches have been
 * filled with something else meanwhile.
 */
function otherWork(): () => void {
  const memory = new Float64Array(ELSEWHERE_BYTES / 8);
  const texts = Array.from({ length: 64 }, (_, text) =>
    JSON.stringify(Array.from({ length: 40 }, (_, at) => ({ [`key${at}`]: text * at, at }))),
  );
  let turn = 0;
  return () => {
    const from = (turn++ * 4096) % memory.length;
    for (let at = 0; at < TOUCHED_BYTES / 8; at += LINE_BYTES / 8) {
      const place = (from + at) % memory.length;
      memory[place] = (memory[place] as number) + 1;
    }
    JSON.parse(texts[turn % texts.length] as string);
  };
}

/**
 * A request of about a kilobyte of text, of which half begins like all of its family: one of 50,
 * chosen by a number in [0, 1).
 */
export function requestOf(turn: number, chance: number): InferenceRequest {
  const family = Math.floor(chance * FAMILIES);
  const promptTokens = 256 + (turn % 20) * 8;
  const blocks = Math.floor(promptTokens / BLOCK_TOKENS);
  const ids = Array.from(
    { length: blocks },
    (_, at) => (at < 2 ? family : FAMILIES + turn) * 1000 + at,
  );
  const id = String(turn).padStart(12, '0');
  return plainRequest({
    id: `0123456789ab-${turn.toString(36)}`,
    promptTokens,
    prompt: chainBlockIds(ids, { seedText: 'm', blockTokens: BLOCK_TOKENS }),
    headers: new Map([['x-request-id', `0c9d1f66-7f0a-4f6e-9d2b-${id}`]]),
    bodyBytes: 1024,
  });
}

/** As a line, beside what a whole request costs. */
export function addedText({ addedMicros }: Added, requestMs: number): string {
  const micros = (value: number): string => value.toFixed(2);
  const share = (100 * addedShare({ addedMicros }, requestMs)).toFixed(1);
  return (
    `around the decision alone, caches cold: ${micros(addedMicros.median)} µs more ` +
    `(quartiles ${micros(addedMicros.lower)} to ${micros(addedMicros.upper)}), ${share} % of the request`
  );
}

/** As a share of a request that takes `requestMs`. */
export function addedShare({ addedMicros }: Pick<Added, 'addedMicros'>, requestMs: number): number {
  return addedMicros.median / 1000 / requestMs;
}
