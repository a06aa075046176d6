import type { Millis } from '../../framework/runtime.ts';
import { type WaitingParts, waitingNow } from '../admin/describe-waiting.ts';
import type { LiveWaiting } from './live-message.ts';

/** More do not fit beside the pool. */
const GROUPS_MAX = 20;
const ENDPOINTS_MAX = 5;

/** What waits at the picker, for the live page; undefined where nothing does. */
export function liveWaiting(parts: WaitingParts, now: Millis): LiveWaiting | undefined {
  const { groups, groupsNotShown = 0, endpoints, ...all } = waitingNow(parts, now);
  if (all.requests === 0) return undefined;
  const hidden = groupsNotShown + Math.max(0, groups.length - GROUPS_MAX);
  return {
    ...all,
    groups: groups.slice(0, GROUPS_MAX),
    ...(hidden > 0 && { groupsNotShown: hidden }),
    endpoints: endpoints.slice(0, ENDPOINTS_MAX),
    endpointsNotShown: Math.max(0, endpoints.length - ENDPOINTS_MAX),
  };
}
