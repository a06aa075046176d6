import { decodeStepMs } from '../../src/cost-model/step-time.ts';
import {
  type InFlightLoad,
  MODELS_IN_FLIGHT,
  type ModelsInFlightView,
  type StepTime,
} from '../../src/framework/cycle-facts.ts';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { LoraState } from '../../src/framework/endpoint-attributes.ts';
import type { Millis } from '../../src/framework/runtime.ts';
import type { SchedulingContext } from '../../src/framework/scheduling.ts';
import type { EndpointSamples } from './endpoint-samples.ts';
import type { HeldAdapters } from './held-adapters.ts';

/** The time to load an adapter: 16 MB from disk onto the accelerator. */
const ADAPTER_LOAD_MS = 60;

/** A request that asks for an adapter. */
interface AdapterRequest {
  readonly model: string;
  readonly held: HeldAdapters;
  readonly inFlight: ModelsInFlightView;
  /** The expected length of an answer. */
  readonly outputTokens: number;
}

/** What its adapter's wait depends on at an endpoint. */
interface AdapterState {
  readonly load: InFlightLoad;
  readonly engine: StepTime;
}

/**
 * What the request's adapter costs on an endpoint: nothing where it is in use and no other adapter
 * waits for a slot; where a slot is open, a load, unless the endpoint still holds it; otherwise
 * also the wait until enough of those ahead, each as long as an answer, are through.
 */
function adapterWaitMs(
  endpoint: Endpoint,
  lora: LoraState,
  { load, engine }: AdapterState,
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

/**
 * What the request's adapter costs at an endpoint that reports adapters. Whether its model is one
 * is looked for only where an endpoint does: most pools have none.
 */
export function adapterWaits(
  context: SchedulingContext,
  {
    held,
    samples,
    scored,
    outputTokens,
  }: {
    readonly held: HeldAdapters;
    readonly samples: EndpointSamples;
    readonly scored: readonly Endpoint[];
    readonly outputTokens: number;
  },
): (endpoint: Endpoint, lora: LoraState, state: AdapterState) => Millis {
  const { model } = context.request;
  let adapter: AdapterRequest | undefined;
  let isAdapter: boolean | undefined;
  return (endpoint, lora, state) => {
    isAdapter ??= held.isAdapter(model) || scored.some((each) => samples.hasAdapter(each, model));
    if (!isAdapter) return 0;
    adapter ??= { model, held, inFlight: context.get(MODELS_IN_FLIGHT), outputTokens };
    return adapterWaitMs(endpoint, lora, state, adapter);
  };
}
