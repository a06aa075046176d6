import type { Millis } from '../../framework/runtime.ts';
import { hasFailed, type RequestRecord } from '../requests/request-record.ts';
import {
  orchestrationAttributes,
  type PutAttribute,
  profileAttributes,
  requestAttributes,
} from './attributes.ts';

/** One span of a request, without its ids. Times are those of the process's clock. */
export interface Phase {
  readonly name: string;
  readonly from: Millis;
  readonly to: Millis;
  /** The whole request; its orchestration below that; parts of one or the other. */
  readonly place: 'request' | 'orchestration' | 'part-of-request' | 'part-of-orchestration';
  readonly attributes?: (put: PutAttribute) => void;
  /**
   * The id of a span that other servers know already. Any other span gets its id when it is
   * written.
   */
  readonly spanId?: string;
  /** What failed; undefined where nothing did. */
  readonly failure?: string | undefined;
}

/** Less is the time of the code between reading and deciding, and no wait. */
const WAIT_MS_MIN = 1;

/**
 * The spans of a request that is over, the span of the whole request last: one for each phase. The
 * reference's names are those of the request, of its orchestration and of profiles.
 */
export function phasesOf(record: RequestRecord): Phase[] {
  const { beganAt, readAt, decidedAt, firstTokenAt, routed } = record;
  const endedAt = record.endedAt ?? beganAt;
  const phases: Phase[] = [part('read_request', beganAt, readAt ?? endedAt)];
  if (readAt !== undefined) addOrchestration(phases, record, readAt, decidedAt ?? endedAt);
  if (routed !== undefined && decidedAt !== undefined) {
    if (firstTokenAt !== undefined)
      phases.push(part('wait_for_first_token', decidedAt, firstTokenAt));
    phases.push(part('receive_response', firstTokenAt ?? decidedAt, endedAt));
  }
  phases.push({
    name: 'gateway.request',
    place: 'request',
    from: beganAt,
    to: endedAt,
    attributes: (put) => requestAttributes(record, put),
    failure: hasFailed(record) ? failureOf(record) : undefined,
  });
  return phases;
}

function part(name: string, from: Millis, to: Millis): Phase {
  return { name, from, to, place: 'part-of-request' };
}

/**
 * The wait for the decision with what is in it: waiting, and the profiles, which share the
 * scheduler's time.
 */
function addOrchestration(
  phases: Phase[],
  record: RequestRecord,
  readAt: Millis,
  to: Millis,
): void {
  const { decidedAt, scheduleMs, decision, preparedMs, routed, error } = record;
  phases.push({
    name: 'gateway.request_orchestration',
    place: 'orchestration',
    from: readAt,
    to,
    attributes: (put) => orchestrationAttributes(record, put),
    failure: error !== undefined && routed === undefined ? failureOf(record) : undefined,
  });
  if (decidedAt === undefined || scheduleMs === undefined) return;
  const place = 'part-of-orchestration';
  const from = Math.max(readAt, decidedAt - scheduleMs);
  const heldMs = routed?.heldMs ?? 0;
  if (preparedMs > 0 || heldMs > 0 || from - readAt >= WAIT_MS_MIN) {
    const attributes = (put: PutAttribute): void => {
      put('pointsman.wait.prepare_ms', preparedMs);
      put('pointsman.wait.hold_ms', heldMs);
    };
    phases.push({ name: 'wait_for_endpoint', from: readAt, to: from, place, attributes });
  }
  const candidates = decision?.candidates.length ?? 0;
  for (const result of decision?.decision?.profiles ?? []) {
    const attributes = (put: PutAttribute): void => profileAttributes(result, candidates, put);
    phases.push({ name: 'run_scheduler_profile', from, to: decidedAt, place, attributes });
  }
}

function failureOf({ error, status }: RequestRecord): string {
  return error?.message ?? `the model server answered ${status}`;
}
