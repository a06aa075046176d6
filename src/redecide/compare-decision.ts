import { ttftOn } from '../cost-model/slo-headroom.ts';
import {
  DEFAULT_PREFIX_PRODUCER,
  type InFlightView,
  prefixMatchKey,
} from '../framework/cycle-facts.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { Millis } from '../framework/runtime.ts';
import type { Decision } from '../framework/scheduling.ts';
import type { CapturedDecision } from '../journal/capture/capture-record.ts';
import type { DecidedCycle } from '../picker/cycles/cycle.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import type { Redecision } from './redecision.ts';
import { bestOf, rankIn, standingOf } from './standing.ts';

/** How the recorded endpoint compares with the one that is chosen now. */
export type Comparison = Pick<Redecision, 'place' | 'best' | 'standing' | 'ttftMs'>;

interface CompareOptions {
  /** Whether the configuration can predict times to the first token: `predictsTimes`. */
  readonly predicts: boolean;
  /** Whether a decision that differs is explained by the scores of both endpoints. */
  readonly explains: boolean;
  readonly namesBest: boolean;
  /**
   * What has been sent, without what waits at the picker: the context's view has both, but an
   * observed time begins at the pick.
   */
  readonly inFlight: InFlightView;
}

/**
 * Compares the decision of this cycle with the recorded one. Empty where either names no endpoint;
 * without times where the configuration predicts none.
 */
export function compareDecision(
  own: Decision,
  was: CapturedDecision,
  { candidates, all, context }: DecidedCycle,
  { predicts, explains, namesBest, inFlight }: CompareOptions,
): Comparison {
  const target = targetOf(own);
  const id = 'endpoint' in was ? was.endpoint : undefined;
  const actual = all.find((endpoint) => endpoint.id === id);
  if (actual === undefined || target === undefined) return {};
  const differs = explains && target.id !== id;
  const comparison = {
    place: rankIn(actual, own),
    ...(namesBest && { best: bestOf(own) }),
    ...(differs && { standing: standingOf(actual, own) }),
  };
  if (!predicts) return comparison;
  const match = context.get(prefixMatchKey());
  const ttftOf = (endpoint: Endpoint): Millis => ttftOn(endpoint, context, match, inFlight);
  let best = Number.POSITIVE_INFINITY;
  for (const endpoint of candidates) best = Math.min(best, ttftOf(endpoint));
  return { ...comparison, ttftMs: { was: ttftOf(actual), is: ttftOf(target), best } };
}

/** Whether times to the first token can be predicted: that needs the default prefix index. */
export function predictsTimes({ plugins }: PickerPlan): boolean {
  return plugins.some(({ name }) => name === DEFAULT_PREFIX_PRODUCER);
}

function targetOf({ primary }: Decision): Endpoint | undefined {
  return primary.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
}
