import type { MethodDefinition, ServiceDefinition } from '@grpc/proto-loader';
import { packageFile } from '../files/folders.ts';
import { loadProtoLoader } from '../runtime/modules/load-packages.ts';
import { countFields } from './count-fields.ts';

/** The messages of proto/pointsman/scheduler/v1/scheduler.proto, which documents their fields. */

export interface PickerMessage {
  readonly hello?: Hello;
  readonly removed?: readonly number[];
  readonly endpoints?: readonly EndpointMessage[];
  readonly events?: readonly EventMessage[];
  readonly requests?: readonly RequestMessage[];
}

interface Hello {
  readonly version: number;
  readonly picker: string;
  readonly headers: readonly string[];
  readonly deadlineMs: number;
}

export interface EndpointMessage {
  readonly slot: number;
  readonly id: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly sampled: boolean;
  readonly waitingRequests: number;
  readonly runningRequests: number;
  readonly kvCacheUsage: number;
  readonly sampleAgeMs: number;
  readonly cacheBlocks: number;
  readonly cacheBlockTokens: number;
  readonly loraMax: number;
  readonly loraRunning: readonly string[];
  readonly loraWaiting: readonly string[];
}

export interface RequestMessage {
  readonly id: string;
  readonly model: string;
  readonly promptTokens: number;
  readonly outputTokensMax: number;
  readonly streaming: boolean;
  readonly priority: number;
  readonly fairnessId: string;
  readonly objective: string;
  readonly ttftSloMs: number;
  readonly tpotSloMs: number;
  readonly blockTokens: number;
  readonly blockHashes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly candidates: readonly number[];
}

export type EventMessage = { readonly id: string } & (
  | { readonly routed: RoutedMessage }
  | { readonly firstToken: { readonly afterMs: number } }
  | { readonly done: DoneMessage }
);

interface RoutedMessage {
  readonly slot: number;
  readonly prefillSlot?: number;
  readonly promptTokens: number;
}

interface DoneMessage {
  readonly outcome: 'COMPLETED' | 'ABORTED' | 'FAILED';
  readonly afterMs: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

/** As decoded: fields that were not sent have their defaults. */
export interface SchedulerMessage {
  readonly welcome: Welcome | null;
  readonly decisions: readonly DecisionMessage[];
}

export interface Welcome {
  readonly version: number;
  readonly name: string;
  readonly wantsEndpoints: boolean;
  readonly wantsEvents: boolean;
  readonly blockHashesMax: number;
  readonly headers: readonly string[];
}

export interface DecisionMessage {
  readonly id: string;
  readonly targets: readonly { readonly slot: number; readonly score: number }[];
  readonly refuse: boolean;
  readonly prefillSlot?: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const PROTO = 'proto/pointsman/scheduler/v1/scheduler.proto';

export const PROTOCOL_VERSION = 1;
export const RUN_METHOD = '/pointsman.scheduler.v1.Scheduler/Run';

type RunMethod = MethodDefinition<PickerMessage, SchedulerMessage>;

let run: RunMethod | undefined;

/** Read at the first message: most pickers have no scheduler in another process. */
function runMethod(): RunMethod {
  if (run !== undefined) return run;
  const { loadSync } = loadProtoLoader();
  const options = { longs: Number, enums: String, defaults: true };
  const definitions = loadSync(packageFile(PROTO), options);
  const service = definitions['pointsman.scheduler.v1.Scheduler'] as ServiceDefinition;
  run = service['Run'] as RunMethod;
  return run;
}

/** The bytes of a message to a scheduler in another process. */
export function encodePickerMessage(message: PickerMessage): Uint8Array {
  return runMethod().requestSerialize(message);
}

/**
 * Enough to score hundreds of endpoints for hundreds of requests; decoded in about 0.1 s at most.
 */
const FIELDS_MAX = 100_000;

/** Undefined if the bytes are not a SchedulerMessage, or one of too many fields. */
export function decodeSchedulerMessage(bytes: Uint8Array): SchedulerMessage | undefined {
  // No shorter message has too many.
  if (bytes.length > 2 * FIELDS_MAX && countFields(bytes) > FIELDS_MAX) return undefined;
  try {
    return runMethod().responseDeserialize(
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
    );
  } catch {
    return undefined;
  }
}
