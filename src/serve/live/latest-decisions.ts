import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import type { Segment } from '../../journal/explain/decision-ring.ts';
import { type ExplainedProfile, explain } from '../../journal/explain/explanation.ts';
import { flowLines } from '../../journal/explain/flow-text.ts';
import type { LastFlowStays } from '../../journal/explain/last-flow-stays.ts';
import { type RecordedDecision, SegmentReader } from '../../journal/explain/segment-reader.ts';
import { HELD_MS_MIN } from './live-counts.ts';
import type { LiveDecision, LiveProfile } from './live-message.ts';
import type { RecentPicks } from './recent-picks.ts';

/** More would neither be read nor fit on a screen. */
const SHOWN_MAX = 10;
/** The pick, the runner-up and some more. */
const ENDPOINTS_MAX = 6;

/** The latest decisions from number `from` on, newest first, and the number of the next one. */
export function latestDecisions(
  { ring, stays }: Pick<DecisionRecorder, 'ring' | 'stays'>,
  picks: RecentPicks,
  from: number,
): { readonly next: number; readonly shown: readonly LiveDecision[] } {
  const segments = ring.segments().slice(-2);
  const last = segments.at(-1);
  const next = last === undefined ? 0 : last.first + last.count;
  const first = Math.max(from, next - SHOWN_MAX);
  const shown = segments
    .flatMap((segment) => decisionsFrom(segment, first, picks))
    .map((decision) => withFlow(decision, stays))
    .reverse();
  return { next, shown };
}

function decisionsFrom(segment: Segment, first: number, picks: RecentPicks): LiveDecision[] {
  const found: LiveDecision[] = [];
  if (segment.first + segment.count <= first) return found;
  const reader = new SegmentReader(segment);
  for (let at = 0; at < segment.count; at++) {
    const number = segment.first + at;
    const isShown = number >= first;
    const decision = reader.next(isShown ? 'all' : 'without-scores');
    if (isShown) found.push(describe(segment, number, decision, picks));
  }
  return found;
}

function describe(
  segment: Segment,
  number: number,
  decision: RecordedDecision,
  picks: RecentPicks,
): LiveDecision {
  const {
    candidates,
    profiles,
    streaming: _streaming,
    waited,
    ...rest
  } = explain({ segment, number, decision });
  const expectedTtftMs = picks.find(decision.id)?.expectedTtftMs;
  return {
    ...rest,
    candidates: candidates.length,
    profiles: profiles.map(shortened),
    ...(waited !== undefined &&
      waited.waitedMs >= HELD_MS_MIN && {
        held: {
          ms: waited.waitedMs,
          ...(waited.endpoint !== undefined && { endpoint: waited.endpoint }),
        },
      }),
    ...(expectedTtftMs !== undefined && { expectedTtftMs }),
  };
}

/** The decision with what flow control says of it, where that held the request. */
function withFlow(decision: LiveDecision, stays: LastFlowStays): LiveDecision {
  if (decision.held === undefined || decision.held.endpoint !== undefined) return decision;
  const flow = stays.find(decision.id)?.flowControl;
  if (flow === undefined) return decision;
  // The first line says how long it waited, which the message has already.
  return { ...decision, held: { ...decision.held, why: flowLines(flow).slice(1) } };
}

function shortened({ filters, endpoints, picked, ...rest }: ExplainedProfile): LiveProfile {
  const best = endpoints.slice(0, ENDPOINTS_MAX);
  const compared = [picked[0], rest.runnerUp?.endpoint];
  const others = endpoints
    .slice(ENDPOINTS_MAX)
    .filter(({ endpoint }) => compared.includes(endpoint));
  const shown = [...best, ...others];
  return {
    ...rest,
    filters: filters.map(({ filter, dropped }) => ({ filter, dropped: dropped.length })),
    endpoints: shown,
    notKept: rest.notKept + endpoints.length - shown.length,
  };
}
