import { promptMs } from '../../cost-model/step-time.ts';
import type { Queued } from '../../flow/endpoint-queue.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Placement, RouteOptions } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { AdapterSlots } from '../capacity/adapter-slots.ts';
import type { Cycle } from '../cycles/cycle.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { HeldLoad, HeldLoads } from '../load/held-loads.ts';
import type { Arrival } from './arrival.ts';

/** Where a request would go, and what it would bring there. */
export interface Target {
  readonly endpoint: Endpoint;
  /** Where its prompt is computed, if elsewhere. */
  readonly prefill: Endpoint | undefined;
  /** The adapter that it needs a slot for there, if any. */
  readonly adapter: string | undefined;
  /** The time that its own prompt takes. */
  readonly ownMs: Millis;
  readonly load: HeldLoad;
}

/** A request that waits, with what was last decided about it. */
export interface HeldRequest extends Queued {
  readonly options: RouteOptions;
  /** By it the caller names the request. */
  readonly placement: Placement;
  /** Gets what becomes of the request. */
  readonly arrival: Arrival;
  /** Undefined where it could not be decided. */
  target: Target | undefined;
  ownMs: Millis;
  decidedAt: Millis;
}

/** A name of what a request waits for: requests with equal names can begin at the same time. */
export function placeOf(target: Target | undefined): string {
  if (target === undefined) return '';
  const { endpoint, prefill, adapter } = target;
  if (prefill !== undefined) return `${endpoint.id} ${prefill.id}`;
  return adapter === undefined ? endpoint.id : `${endpoint.id}\n${adapter}`;
}

export interface TargetParts {
  readonly engineModel: EngineModel;
  readonly loads: HeldLoads;
  readonly slots: AdapterSlots;
}

/** Undefined where the decision names no endpoint. */
export function targetOf(
  { primary, prefill }: Decision,
  { request, context, generation }: Cycle,
  { engineModel, loads, slots }: TargetParts,
): Target | undefined {
  const endpoint = primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
  if (endpoint === undefined) return undefined;
  const computes = prefill ?? endpoint;
  const cached = generation.core.cachedTokens(computes, context);
  const { promptTokens } = request;
  const uncachedTokens = Math.max(0, Math.ceil(promptTokens - cached));
  const ownMs = promptMs({ promptTokens, uncachedTokens }, engineModel.stepTime(computes));
  // A beginning that several waiting prompts have is computed once.
  const sharedTokens = loads.sharedWith(request)?.(computes)?.tokens ?? 0;
  const prefillTokens = Math.min(uncachedTokens, Math.max(0, promptTokens - sharedTokens));
  const load = { endpoint: computes, prefillTokens, request, share: loads.shareOf(request) };
  const adapter = prefill === undefined ? slots.adapterAt(endpoint, request.model) : undefined;
  return { endpoint, prefill, adapter, ownMs, load };
}
