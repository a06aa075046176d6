import { encode } from '@msgpack/msgpack';
import { logEventTroubles } from '../../src/endpoints/kv-events/health/log-event-troubles.ts';
import {
  PrecisePrefixIndex,
  precisePrefixProducer,
} from '../../src/endpoints/kv-events/precise-prefix-producer.ts';
import { type PrefixMatch, prefixMatchKey } from '../../src/framework/cycle-facts.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { EndpointWriter } from '../../src/framework/plugin.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type {
  HttpResponse,
  MessageSocket,
  MessageSocketOptions,
} from '../../src/framework/runtime.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type EndpointFields, makeContext, makeEndpoint, makeRequest } from '../makers.ts';

const NAME = 'precise-prefix-cache-producer';

interface Socket extends MessageSocketOptions {
  readonly sent: (readonly Uint8Array[])[];
  closed: boolean;
}

export function sequenceBytes(sequence: number): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(sequence));
  return bytes;
}

/** A stored chain of blocks of `blockTokens` tokens under hashes that count from `hash`. */
export function stored(
  tokenIds: readonly number[],
  {
    hash = 1,
    blockTokens = 4,
    lora = null,
  }: { readonly hash?: number; readonly blockTokens?: number; readonly lora?: string | null } = {},
): unknown {
  const hashes = Array.from({ length: tokenIds.length / blockTokens }, (_, at) => hash + at);
  return ['BlockStored', hashes, null, tokenIds, blockTokens, null, 'GPU', lora];
}

type Publish = (...events: readonly unknown[]) => void;

interface AskedRequest {
  readonly request: InferenceRequest;
  readonly waits: boolean;
  isReady(): boolean;
}

export interface PreciseIndexUnderTest {
  readonly index: PrecisePrefixIndex;
  readonly pool: EndpointWriter;
  readonly clock: SimulatedClock;
  readonly sockets: readonly Socket[];
  /** The URLs that tokenizers were asked at. */
  readonly asked: readonly string[];
  /** What was logged: the values of the fields, joined. */
  readonly lines: readonly string[];
  add(name: string, fields?: EndpointFields): Endpoint;
  /** One publisher at an address; its batches are numbered from `first` on. */
  publisher(address: string, topic?: string, first?: number): Publish;
  match(request: InferenceRequest): PrefixMatch;
  request(body: unknown, fields?: Partial<InferenceRequest>): AskedRequest;
  matchIds(ids: readonly number[], fields?: Partial<InferenceRequest>): PrefixMatch;
}

/** A precise prefix index over sockets that tests publish to. */
export function startPreciseIndex(
  parameters: unknown = {},
  answer?: (url: URL) => HttpResponse,
): PreciseIndexUnderTest {
  const clock = new SimulatedClock();
  const sockets = new RecordedSockets();
  const asked: string[] = [];
  const pool: Endpoint[] = [];
  const lines: string[] = [];
  const writer = { snapshot: () => pool, observe: () => undefined, set: () => undefined };
  const write = (fields: object): void => void lines.push(Object.values(fields).join(' '));
  const uncounted = { onDropped: () => undefined, onSocketFailed: () => undefined };
  logEventTroubles(writer, { log: { warn: write, error: write }, clock, ...uncounted });
  const network = {
    get: () => Promise.reject(new Error('not asked')),
    openMessages: sockets.open,
    ...(answer && {
      post: (url: URL) => {
        asked.push(url.href);
        return Promise.resolve(answer(url));
      },
    }),
  };
  const runtime = { clock, random: seededRandom(1), network };
  const host = { name: NAME, pool: writer, runtime };
  const index = precisePrefixProducer.start(precisePrefixProducer.config.parse(parameters), host);
  if (!(index instanceof PrecisePrefixIndex)) throw new Error('started something else');
  const add = (name: string, fields: EndpointFields = {}): Endpoint => {
    const endpoint = makeEndpoint(name, { slot: pool.length, ...fields });
    pool.push(endpoint);
    index.onEndpointAdded(endpoint);
    return endpoint;
  };
  const seen = { asked, lines, sockets: sockets.all, publisher: sockets.publisher };
  return { index, pool: writer, clock, add, ...seen, ...askingOf(index, { pool, clock }) };
}

/** Sockets of publishers that a test plays. */
class RecordedSockets {
  readonly all: Socket[] = [];

  readonly open = (options: MessageSocketOptions): MessageSocket => {
    const socket: Socket = { ...options, sent: [], closed: false };
    this.all.push(socket);
    return { send: (frames) => void socket.sent.push(frames), close: () => (socket.closed = true) };
  };

  readonly publisher = (address: string, topic = 'kv@pod@m', first = 0): Publish => {
    let sequence = first;
    return (...events: readonly unknown[]): void => {
      const socket = this.all.find((each) => each.address === address && !each.closed);
      const frames = [
        new TextEncoder().encode(topic),
        sequenceBytes(sequence),
        encode([sequence, events, 0], { useBigInt64: true }),
      ];
      sequence += 1;
      socket?.onMessage(frames);
    };
  };
}

/** How a test asks the index. */
function askingOf(
  index: PrecisePrefixIndex,
  { pool, clock }: { readonly pool: readonly Endpoint[]; readonly clock: SimulatedClock },
): Pick<PreciseIndexUnderTest, 'match' | 'request' | 'matchIds'> {
  const match = (request: InferenceRequest): PrefixMatch => {
    const fact = index.facts.find(({ key }) => key.name === prefixMatchKey(NAME).name);
    return fact?.compute(pool, makeContext({ request, now: clock.now() })) as PrefixMatch;
  };
  const request = (body: unknown, fields: Partial<InferenceRequest> = {}): AskedRequest => {
    const made = makeRequest(fields);
    let ready = false;
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const waits = index.prepare(made, [bytes], () => {
      ready = true;
    });
    return { request: made, waits, isReady: () => ready };
  };
  const matchIds = (ids: readonly number[], fields: Partial<InferenceRequest> = {}) =>
    match(request({ prompt: ids }, fields).request);
  return { match, request, matchIds };
}
