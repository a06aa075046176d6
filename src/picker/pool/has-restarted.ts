import type { Endpoint } from '../../framework/endpoint.ts';
import { STARTED_AT } from '../../framework/endpoint-attributes.ts';

/**
 * A server takes longer to start again. Libraries that compute the start of a process from its age
 * at each scrape are off by a second now and then, and by more while the clock is slewed.
 */
const SAME_START_S = 2;

/** Whether the server's process is another one than before, as far as its metrics page says. */
export function hasRestarted(endpoint: Endpoint, previous: Endpoint): boolean {
  const [before, now] = [previous.attribute(STARTED_AT), endpoint.attribute(STARTED_AT)];
  if (before === undefined || now === undefined) return false;
  return Math.abs(now - before) > SAME_START_S;
}
