import type { FlowPlace } from '../../flow/control/flow-place.ts';
import type { FlowEvent } from '../../picker/flow-control/flow-stay.ts';
import type { ExplainedFlow, ExplainedFlowEnd } from './last-flow-stays.ts';

/** What had happened before a request was let go. */
const EVENTS: Readonly<Record<FlowEvent, string>> = {
  end: 'another request ended',
  'first-token': 'the first token of another request came',
  sample: 'a new sample of an endpoint came',
  endpoints: 'the endpoints of the pool changed',
  configuration: 'the configuration changed',
};

/** What flow control did with a request, one sentence a line, without full stops. */
export function flowLines({ priority, fairnessId, waitedMs, came, left }: ExplainedFlow): string[] {
  const whose = `priority ${priority}, fairness id ${fairnessId}`;
  const found = came === undefined ? [] : [`when it came, ${whyClosed(came)}`, queueText(came)];
  return [
    `${Math.round(waitedMs).toLocaleString('en')} ms in flow control: ${whose}`,
    ...found,
    ...(left === undefined ? [] : [endText(left)]),
  ];
}

/** Why the band of a request was closed. */
function whyClosed({ endpoints, saturation, ceiling, closedBy }: FlowPlace): string {
  if (endpoints === 0) return 'the pool had no endpoint';
  const pool = `the saturation of the pool was ${figure(saturation)}`;
  if (ceiling <= 0) return 'its priority was closed by the configuration';
  if (saturation >= ceiling)
    return `${pool}: requests of its priority wait until it is below ${figure(ceiling)}`;
  return closedBy === undefined
    ? `${pool}, and others had their turn`
    : `${pool}, and priority ${closedBy} was closed, which closes all below it`;
}

/** How many requests waited when it came. */
function queueText({ higher, samePriority, sameFairnessId }: FlowPlace): string {
  const parts = [
    ...(higher === 0 ? [] : [`${requests(higher)} with a higher priority`]),
    ...(samePriority === 0
      ? []
      : [`${requests(samePriority)} with its priority (${sameFairnessId} with its fairness id)`]),
  ];
  return parts.length === 0 ? 'no other waited then' : `${parts.join(' and ')} waited already`;
}

function endText(left: ExplainedFlowEnd): string {
  if (left.kind === 'client-gone') return 'its client left while it waited';
  if (left.kind === 'refused') {
    return `refused with ${left.status} (${left.reason}): ${left.why}`;
  }
  if (left.place === undefined) return 'let go because flow control was switched off';
  const { saturation } = left.place;
  const events = left.after.map((event) => EVENTS[event]).join(', and ');
  const cause = events === '' ? 'when time had gone by' : `when ${events}`;
  return `let go ${cause}; the saturation of the pool was ${figure(saturation)}`;
}

function requests(count: number): string {
  return count === 1 ? '1 request' : `${count.toLocaleString('en')} requests`;
}

/** Three digits behind the point are enough to compare with a ceiling. */
function figure(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toFixed(3))) : 'infinite';
}
