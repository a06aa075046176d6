import { fnvHash } from '../../framework/values/fnv-hash.ts';
import type { CapacityPart } from '../plan/capacity-plan.ts';

/**
 * How many of the `capacity` places at an endpoint belong to this picker alone. The parts of all
 * pickers add up to the capacity, so that the bound is exact without a message between pickers.
 * What the division leaves over goes to other pickers at another endpoint.
 */
export function placesOf({ number, of }: CapacityPart, capacity: number, address: string): number {
  if (capacity === Number.POSITIVE_INFINITY) return capacity;
  const rest = capacity % of;
  const each = (capacity - rest) / of;
  if (rest === 0) return each;
  return (number - 1 + fnvHash(address)) % of < rest ? each + 1 : each;
}
