import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import { type Explanation, explain } from '../../journal/explain/explanation.ts';
import { findDecision } from '../../journal/explain/find-decision.ts';
import type { FlowRecord } from '../../journal/explain/last-flow-stays.ts';
import type { RefusedRequest } from '../../journal/explain/last-refusals.ts';
import type { ControlledRouter } from '../../picker/flow-control/controlled-router.ts';

/**
 * A decision; or a request without one, which flow control keeps or refused, or which the picker
 * refused before.
 */
export type ExplainedRequest = Explanation | FlowRecord | RefusedRequest;

/**
 * The latest request with this id, our own or that of client or proxy; undefined where none is
 * known.
 */
export function explainedRequest(
  id: string,
  recorder: Pick<DecisionRecorder, 'ring' | 'stays' | 'refusals' | 'answers'>,
  router: Pick<ControlledRouter, 'stayOf'> | undefined,
): ExplainedRequest | undefined {
  const { ring, stays, refusals, answers } = recorder;
  const waiting = router?.stayOf(id);
  if (waiting !== undefined) return stays.recordOf(waiting);
  const kept = stays.find(id);
  const found = findDecision(ring.segments(), id);
  if (found === undefined) return kept ?? refusals.find(id);
  const explained = explain(found);
  const answer = answers.byId().get(explained.id);
  const decided = answer === undefined ? explained : { ...explained, answer };
  // A client that was refused may have asked again, or may have been refused when it did.
  const isOther = kept !== undefined && kept.id !== decided.id;
  return isOther && kept.wallMs >= decided.wallMs ? kept : withFlow(decided, stays.of(decided.id));
}

/**
 * The explanation with what flow control did with the request before the decision, and after it.
 */
function withFlow(decided: Explanation, records: readonly FlowRecord[]): Explanation {
  const flowControl = records.find(({ flowControl: { came } }) => came !== undefined)?.flowControl;
  const end = records.map(({ flowControl: { left } }) => left);
  const evicted = end.find((left) => left?.kind === 'refused' && left.reason === 'evicted');
  return {
    ...decided,
    ...(flowControl !== undefined && { flowControl }),
    ...(evicted?.kind === 'refused' && { evicted: evicted.why }),
  };
}
