import { createFlowControl } from '../../flow/control/create-flow-control.ts';
import type { FlowControl, FlowControlDeps } from '../../flow/control/flow-control.ts';
import type { FlowControlPlan } from '../../flow/control/flow-control-plan.ts';
import type { Served } from '../../flow/discipline.ts';
import type { FairShares } from '../../flow/fair-shares.ts';
import {
  countedTokens,
  type InFlightLoad,
  type InFlightView,
} from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed, Usage } from '../../framework/observer.ts';
import type { Router } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { ConcurrencyLimit } from '../capacity/concurrency-limit.ts';
import type { Ejector } from '../ejection/ejector.ts';
import type { Ledger } from '../load/ledger.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';

/** The picker behind flow control, as flow control needs it. */
export interface ControlledPicker extends Router {
  readonly pool: EndpointPool;
  readonly ledger: Ledger;
  readonly limit: ConcurrencyLimit;
  readonly ejector: Pick<Ejector, 'remaining'>;
  /** What flows have got, and what they have waiting, also here. */
  readonly shares: FairShares;
}

/** What was let through, and the ledger does not have yet. */
interface Unseen {
  /** How many requests. */
  readonly unseen: number;
  /** Tokens of their prompts. */
  readonly unseenTokens: number;
}

interface ControlOptions {
  readonly plan: FlowControlPlan;
  readonly letThrough: Unseen;
  /** The priority of each objective, by name. */
  readonly objectives: (() => ReadonlyMap<string, number>) | undefined;
  /** The flow control that it replaces. */
  readonly former: FlowControl | undefined;
}

/** Flow control before this picker. */
export function flowControlOver(
  picker: ControlledPicker,
  { plan, letThrough, objectives, former }: ControlOptions,
): FlowControl {
  return createFlowControl(plan, {
    endpoints: () => picker.pool.snapshot(),
    inFlight: withUnseen(picker, letThrough),
    hasRoom: roomBeyond(picker, letThrough),
    takersAmong: takersAmong(picker),
    objectives,
    former,
  });
}

/** Whether the capacity of endpoints allows one more request than those that the ledger lacks. */
function roomBeyond(
  { limit }: ControlledPicker,
  letThrough: Unseen,
): (endpoints: readonly Endpoint[]) => boolean {
  return (endpoints) => limit.roomAt(endpoints) > letThrough.unseen;
}

/** Ejected endpoints get no requests, and beside others those without a first sample get none. */
function takersAmong({ ejector }: ControlledPicker): FlowControlDeps['takersAmong'] {
  return (endpoints) => {
    const working = ejector.remaining(endpoints);
    if (working.every(isSampled)) return working;
    const sampled = working.filter(isSampled);
    return sampled.length === 0 ? working : sampled;
  };
}

const isSampled = ({ metrics }: Endpoint): boolean => Number.isFinite(metrics.sampledAt);

/** The load in flight with requests that the ledger does not have yet, spread over the pool. */
function withUnseen({ ledger, pool }: ControlledPicker, letThrough: Unseen): InFlightView {
  return {
    load(endpoint): InFlightLoad {
      const load = ledger.load(endpoint);
      const { unseen, unseenTokens } = letThrough;
      if (unseen === 0) return load;
      const size = Math.max(1, pool.snapshot().length);
      const tokens = unseenTokens / size;
      return {
        requests: load.requests + unseen / size,
        pendingPrefillTokens: load.pendingPrefillTokens + tokens,
        contextTokens: load.contextTokens + tokens,
        countedTokens: countedTokens(load) + tokens,
        begunRequests: load.begunRequests,
      };
    },
  };
}

/** What a request has used; where the model server does not say so, its prompt alone. */
export function servedOf(
  { request, at: routedAt }: Routed,
  at: Millis,
  usage: Usage | undefined,
): Served {
  const promptTokens = usage?.promptTokens ?? request.promptTokens;
  const outputTokens = usage?.completionTokens ?? 0;
  return { promptTokens, outputTokens, latencyMs: at - routedAt };
}
