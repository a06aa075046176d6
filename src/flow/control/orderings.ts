import type { Before, Item } from './fairness/flow.ts';

/** The order of the requests of one flow. Equal deadlines are served in the order of arrival. */

export const firstCome: Before = (a, b) => a.number < b.number;

/** By the end of the time that a request may wait; those without an end are last. */
export const earliestDeadline: Before = byDeadline(({ waiting, ttlMs }) => waiting.since + ttlMs);

/** By when the first token is due; requests that name no time for it are last. */
export const earliestFirstToken: Before = byDeadline(({ waiting: { request, since } }) => {
  const { ttftSloMs } = request;
  return ttftSloMs === undefined || ttftSloMs < 0 ? Number.POSITIVE_INFINITY : since + ttftSloMs;
});

function byDeadline(deadline: (item: Item) => number): Before {
  return (a, b) => {
    const [first, second] = [deadline(a), deadline(b)];
    return first === second ? firstCome(a, b) : first < second;
  };
}
