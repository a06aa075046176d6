import { decodeStepMs } from '../src/cost-model/step-time.ts';
import type { Endpoint } from '../src/framework/endpoint.ts';
import type {
  InFlightLoad,
  LoraState,
  ModelsInFlightView,
  StepTime,
} from '../src/framework/keys.ts';
import type { Millis } from '../src/framework/runtime.ts';
import type { HeldAdapters } from './held-adapters.ts';

/** The time to load an adapter: 16 MB from disk onto the accelerator. */
const ADAPTER_LOAD_MS = 60;

/** A request that asks for an adapter. */
export interface AdapterRequest {
  readonly model: string;
  readonly held: HeldAdapters;
  readonly inFlight: ModelsInFlightView;
  /** The expected length of an answer. */
  readonly outputTokens: number;
}

/**
 * What the request's adapter costs on an endpoint: nothing where it is in use and no other adapter
 * waits for a slot; where a slot is open, a load, unless the endpoint still holds it; otherwise
 * also the wait until enough of those ahead, each as long as an answer, are through.
 */
export function adapterWaitMs(
  endpoint: Endpoint,
  lora: LoraState,
  { load, engine }: { readonly load: InFlightLoad; readonly engine: StepTime },
  { model, held, inFlight, outputTokens }: AdapterRequest,
): Millis {
  const models = inFlight.models(endpoint);
  const inUse = models.has(model);
  const waiting = models.size + (inUse ? 0 : 1) - lora.max;
  const residenceMs = outputTokens * decodeStepMs(load.requests, load.contextTokens, engine);
  // At least one slot: an engine that reports none must not make the cost infinite.
  const waitMs = waiting > 0 ? (waiting / Math.max(1, lora.max)) * residenceMs : 0;
  if (inUse || lora.running.has(model)) return waitMs;
  return waitMs + ADAPTER_LOAD_MS * (1 - held.heldShare(endpoint, model, lora.max));
}
