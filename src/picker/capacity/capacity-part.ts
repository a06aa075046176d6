import { fnvHash } from '../../framework/values/fnv-hash.ts';
import type { CapacityPart } from '../plan/capacity-plan.ts';

/**
 * The places at an endpoint that are this picker's alone, of `capacity` places. The parts of all
 * pickers are together the capacity, so that it holds exactly without a message between them. What
 * cannot be divided goes to another picker at another endpoint.
 */
export function placesOf({ number, of }: CapacityPart, capacity: number, address: string): number {
  if (capacity === Number.POSITIVE_INFINITY) return capacity;
  const rest = capacity % of;
  const each = (capacity - rest) / of;
  if (rest === 0) return each;
  return (number - 1 + fnvHash(address)) % of < rest ? each + 1 : each;
}
