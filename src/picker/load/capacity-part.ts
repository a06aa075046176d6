import type { CapacityPart } from '../plan/capacity-plan.ts';

/**
 * The places at an endpoint that are this picker's alone, of `capacity` places. The parts of all
 * pickers are together the capacity, so that it holds exactly without a message between them. What
 * cannot be divided goes to another picker at another endpoint.
 */
export function placesOf({ number, of }: CapacityPart, capacity: number, address: string): number {
  if (capacity === Number.POSITIVE_INFINITY) return capacity;
  const first = hashOf(address) % of;
  const turn = (number - 1 + first) % of;
  return Math.floor(capacity / of) + (turn < capacity % of ? 1 : 0);
}

/** FNV-1a over UTF-16 units: equal at all pickers, and well spread over addresses. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash;
}
