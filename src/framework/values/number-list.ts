/** As long as the longest list that was asked for: as a pool has endpoints. */
const copied: number[] = [];

/**
 * A list of so many numbers, all to be overwritten. It is copied, because V8 takes a list whose
 * length was set for one with holes: where the type of its numbers is checked, as that of scores
 * is, it makes an object of 16 bytes of each that is read.
 */
export function numberList(count: number): number[] {
  // No whole number: V8 would make lists of whole numbers, and copy each at its first fraction.
  while (copied.length < count) copied.push(0.5);
  return copied.slice(0, count);
}
