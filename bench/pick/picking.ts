import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import type { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import { noNetwork } from '../../src/framework/runtime.ts';
import type { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import type { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import type { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import type { seededRandom } from '../../src/runtime/seeded-random.ts';
import { plainRequest } from '../support/plain-request.ts';

export const SEED = 1;
const BLOCK_TOKENS = 64;
/** Conversations that share their first half: most prompts are partly cached somewhere. */
const FAMILIES = 200;
export const REQUESTS = 4000;
/** More than the blocks of one text, so that texts have different block ids. */
const BLOCKS_MAX = 1_000_000;

export interface Row {
  readonly policy: string;
  readonly config: string;
  readonly endpoints: number;
  readonly promptTokens: number;
}

/** What a checkout decides with. */
export interface PickCode {
  readonly EMBEDDED_CATALOGUE: typeof EMBEDDED_CATALOGUE;
  readonly loadConfig: typeof loadConfig;
  readonly chainBlockIds: typeof chainBlockIds;
  readonly EndpointPicker: typeof EndpointPicker;
  readonly SimulatedClock: typeof SimulatedClock;
  readonly seededRandom: typeof seededRandom;
}

const FILES = [
  'catalogue/built-in-catalogue.ts',
  'config/load.ts',
  'openai/prompts/chain-block-ids.ts',
  'picker/endpoint-picker.ts',
  'runtime/clock/simulated-clock.ts',
  'runtime/seeded-random.ts',
];

/** Loads the sources of a checkout. Two checkouts may be loaded into one process. */
export async function codeOf(checkout: string): Promise<PickCode> {
  const modules: object[] = [];
  for (const file of FILES) {
    modules.push((await import(pathToFileURL(join(checkout, 'src', file)).href)) as object);
  }
  return Object.assign({}, ...modules) as PickCode;
}

export function makeRequests(
  { chainBlockIds, seededRandom }: PickCode,
  promptTokens: number,
): readonly InferenceRequest[] {
  const random = seededRandom(SEED).fork('requests');
  const blocks = Math.floor(promptTokens / BLOCK_TOKENS);
  return Array.from({ length: REQUESTS }, (_, turn) => {
    const family = Math.floor(random.next() * FAMILIES);
    const ids = Array.from(
      { length: blocks },
      (_unused, at) => (at < blocks / 2 ? family : FAMILIES + turn) * BLOCKS_MAX + at,
    );
    return plainRequest({
      id: `r${turn}`,
      model: 'm',
      promptTokens,
      prompt: chainBlockIds(ids, { seedText: 'm', blockTokens: BLOCK_TOKENS }),
      bodyBytes: 4 * promptTokens,
    });
  });
}

export function makePicker(
  {
    EMBEDDED_CATALOGUE: catalogue,
    loadConfig,
    EndpointPicker,
    SimulatedClock,
    seededRandom,
  }: PickCode,
  { config, endpoints }: Row,
): EndpointPicker {
  const plan = loadConfig({
    text: config,
    source: 'bench',
    catalogue,
  });
  const network = noNetwork('this bench');
  // The time does not advance, so nothing is scraped and no sample becomes stale.
  const runtime = {
    clock: new SimulatedClock(),
    random: seededRandom(SEED),
    network,
  };
  const picker = new EndpointPicker({ plan, runtime });
  for (let index = 0; index < endpoints; index++) {
    const address = `10.0.${index >> 8}.${index & 255}:8000`;
    picker.pool.upsert({ id: address as EndpointId, address, labels: new Map() });
  }
  return picker;
}

/** Returns a function that samples one endpoint, picks one request and releases it. */
export function picking(
  { seededRandom }: PickCode,
  picker: EndpointPicker,
  requests: readonly InferenceRequest[],
): () => void {
  const random = seededRandom(SEED).fork('metrics');
  const ids = picker.pool.snapshot().map(({ id }) => id);
  const sample = (id: EndpointId): void =>
    picker.pool.observe(id, {
      waitingQueueSize: Math.floor(random.next() * 20),
      runningRequests: Math.floor(random.next() * 64),
      kvCacheUsage: random.next(),
      sampledAt: 0,
    });
  for (const id of ids) sample(id);
  let turn = 0;
  return () => {
    const id = ids[turn % ids.length];
    const request = requests[turn % REQUESTS];
    turn += 1;
    if (id === undefined || request === undefined) return;
    sample(id);
    picker.route(request, { firstTokenVisible: true }).done('completed');
  };
}
