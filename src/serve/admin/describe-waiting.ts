import type { Waiting } from '../../flow/discipline.ts';
import type { HeldSum } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';

interface WaitingSum {
  /** By flow control and for their endpoint. */
  readonly requests: number;
  /** The bytes of their bodies. */
  readonly bytes: number;
  /** How long the oldest has waited; left out where nothing waits. */
  readonly oldestMs?: Millis;
}

/** What waits of one priority, fairness id and objective. */
export interface WaitingGroup extends WaitingSum {
  readonly priority: number;
  readonly fairnessId: string;
  /** Left out where the requests name none. */
  readonly objective?: string;
}

export interface WaitingDocument extends WaitingSum {
  /** The highest priority first, then those with most requests. */
  readonly groups: readonly WaitingGroup[];
  /** Groups that are left out; left out where there are none. */
  readonly groupsNotShown?: number;
  /** The endpoints for which requests wait, those with most requests first. */
  readonly endpoints: readonly {
    readonly endpoint: string;
    readonly requests: number;
    readonly prefillTokens: number;
  }[];
}

interface Tally {
  readonly priority: number;
  readonly fairnessId: string;
  readonly objective: string | undefined;
  requests: number;
  bytes: number;
  since: Millis;
}

/** Fairness ids come from clients: a document must not grow with them. */
const GROUPS_SHOWN = 200;

/** What waits for flow control, and for endpoints. */
export interface WaitingParts {
  readonly picker: Pick<EndpointPicker, 'waits'>;
  readonly router?: { readonly waitingRequests: Iterable<Waiting> } | undefined;
}

/** All requests that wait at the picker, in sums. */
export function waitingNow({ picker, router }: WaitingParts, now: Millis): WaitingDocument {
  const { requests, byEndpoint } = picker.waits;
  return describeWaiting([...(router?.waitingRequests ?? []), ...requests], byEndpoint, now);
}

/** Requests that wait at the picker, in sums. */
export function describeWaiting(
  waiting: Iterable<Waiting>,
  waitedFor: readonly HeldSum[],
  now: Millis,
): WaitingDocument {
  const tallies = new Map<string, Tally>();
  for (const each of waiting) add(tallies, each);
  const all = [...tallies.values()];
  const groups = all.toSorted((a, b) => b.priority - a.priority || b.requests - a.requests);
  const hidden = groups.length - GROUPS_SHOWN;
  const sum = (of: (tally: Tally) => number): number => all.reduce((to, one) => to + of(one), 0);
  const since = Math.min(...all.map((one) => one.since));
  return {
    ...waitsOf(
      { requests: sum((one) => one.requests), bytes: sum((one) => one.bytes), since },
      now,
    ),
    groups: groups.slice(0, GROUPS_SHOWN).map(({ priority, fairnessId, objective, ...rest }) => ({
      priority,
      fairnessId,
      ...(objective !== undefined && { objective }),
      ...waitsOf(rest, now),
    })),
    ...(hidden > 0 && { groupsNotShown: hidden }),
    endpoints: waitedFor
      .map(([endpoint, requests, prefillTokens]) => ({ endpoint, requests, prefillTokens }))
      .toSorted((a, b) => b.requests - a.requests),
  };
}

function add(tallies: Map<string, Tally>, { request, since, bytes }: Waiting): void {
  const { priority, fairnessId, objective } = request;
  const key = `${priority}\n${objective ?? ''}\n${fairnessId}`;
  const tally = tallies.get(key);
  if (tally === undefined) {
    tallies.set(key, { priority, fairnessId, objective, requests: 1, bytes, since });
    return;
  }
  tally.requests += 1;
  tally.bytes += bytes;
  tally.since = Math.min(tally.since, since);
}

function waitsOf(
  { requests, bytes, since }: Pick<Tally, 'requests' | 'bytes' | 'since'>,
  now: Millis,
): WaitingSum {
  const oldest = requests > 0 && { oldestMs: Math.round(now - since) };
  return { requests, bytes, ...oldest };
}
