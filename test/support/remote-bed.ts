import { loadSync, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader';
import { packageFile } from '../../src/files/folders.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { Candidates } from '../../src/framework/replacement.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import type { Call, CallOptions, Runtime } from '../../src/framework/runtime.ts';
import { createContext } from '../../src/picker/scheduling/context.ts';
import type { PickerMessage } from '../../src/remote/messages.ts';
import { type RemoteOptions, RemoteScheduler } from '../../src/remote/remote-scheduler.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeEndpoint, makeRequest } from '../makers.ts';

const definitions = loadSync(packageFile('proto/pointsman/scheduler/v1/scheduler.proto'), {
  longs: Number,
  enums: String,
  defaults: true,
});
const { Run } = definitions['pointsman.scheduler.v1.Scheduler'] as ServiceDefinition;
const run: MethodDefinition<PickerMessage, object> = Run as MethodDefinition<PickerMessage, object>;

export const WELCOME = { version: 1, name: 'fake', wantsEndpoints: true, wantsEvents: true };
export const A: Endpoint = makeEndpoint('a', { slot: 0 });
export const B: Endpoint = makeEndpoint('b', { slot: 1 });

/** What a scheduler sends. */
export const encoded = (message: object): Uint8Array => run.responseSerialize(message);

interface RemoteCall {
  readonly options: CallOptions;
  /** What the scheduler was told by this call. */
  readonly told: PickerMessage[];
  open: boolean;
}

/** A request that the scheduler was asked about. */
interface Asked {
  readonly waits: boolean;
  readonly isReady: () => boolean;
  /**
   * Why it has declined, that it refused, or the slots of its targets and of the prefill server.
   */
  readonly decide: (endpoints?: readonly Endpoint[]) => unknown;
}

interface RemoteBed {
  readonly scheduler: RemoteScheduler;
  readonly clock: SimulatedClock;
  readonly calls: RemoteCall[];
  /** The latest. */
  readonly call: () => RemoteCall;
  /** The scheduler sends a message. */
  readonly say: (message: object) => void;
  readonly ask: (id: string, given?: Candidates) => Asked;
  /** The scheduler decides for these slots. */
  readonly answer: (id: string, slots: readonly number[], more?: object) => void;
  /** So many bytes were sent and not read. */
  readonly setUnread: (bytes: number) => void;
}

/**
 * A scheduler in another process that a test plays, with the endpoints A and B. It has greeted with
 * `welcome`; null: not yet.
 */
export function remoteBed(
  options: Partial<RemoteOptions> = {},
  welcome: object | null = WELCOME,
): RemoteBed {
  const clock = new SimulatedClock();
  const network = new PlayedNetwork();
  const { calls } = network;
  const runtime: Runtime = { clock, random: seededRandom(1), network };
  const scheduler = new RemoteScheduler(
    {
      address: 'x:1',
      deadlineMs: 5,
      batchWindowMs: 0,
      headers: [],
      tls: undefined,
      ...options,
    },
    { runtime, now: () => clock.now() },
  );
  for (const endpoint of [A, B]) scheduler.onEndpointAdded(endpoint);
  const call = (): RemoteCall => calls.at(-1) as RemoteCall;
  const say = (message: object): void => call().options.onMessage(encoded(message));
  if (welcome !== null) say({ welcome });
  const candidates: Candidates = { endpoints: [A, B], all: true };
  const ask = (id: string, given = candidates): Asked => {
    const request = makeRequest({ id });
    let ready = false;
    const waits = scheduler.prepare(request, given, () => {
      ready = true;
    });
    const decide = (endpoints: readonly Endpoint[] = [A, B]): unknown =>
      decidedBy(scheduler, request, endpoints);
    return { waits, isReady: () => ready, decide };
  };
  const answer = (id: string, slots: readonly number[], more: object = {}): void =>
    say({ decisions: [{ id, targets: slots.map((slot) => ({ slot, score: 1 })), ...more }] });
  const setUnread = (bytes: number): void => void (network.unread = bytes);
  return { scheduler, clock, calls, call, say, ask, answer, setUnread };
}

/** A network with the calls to a scheduler alone. */
class PlayedNetwork {
  readonly calls: RemoteCall[] = [];
  /** The bytes that the scheduler has not read. */
  unread = 0;

  readonly get = (): Promise<never> => Promise.reject(new Error('no HTTP here'));

  readonly openCall = (options: CallOptions): Call => {
    const call: RemoteCall = { options, told: [], open: true };
    this.calls.push(call);
    return {
      send: (bytes) => void call.told.push(run.requestDeserialize(Buffer.from(bytes))),
      waitingBytes: () => this.unread,
      close: () => {
        call.open = false;
      },
    };
  };
}

/** See `Asked.decide`. */
function decidedBy(
  scheduler: RemoteScheduler,
  request: InferenceRequest,
  endpoints: readonly Endpoint[],
): unknown {
  const context = { request, now: 0, random: seededRandom(1) };
  const result = scheduler.schedule(endpoints, createContext(context, endpoints, new Map()));
  if ('declined' in result) return result.declined;
  const { primary, prefill } = result;
  return primary.kind === 'exhausted'
    ? 'refused'
    : [primary.targets.map(({ endpoint }) => endpoint.slot), prefill?.slot];
}
