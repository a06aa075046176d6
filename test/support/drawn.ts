import type { Random } from '../../src/framework/runtime.ts';

/** A whole number from 0 on that is less than `bound`. */
export function drawnBelow(random: Random, bound: number): number {
  return Math.floor(random.next() * bound);
}

/** One of the items of a list that has some. */
export function drawnFrom<T>(random: Random, items: readonly T[]): T {
  return items[drawnBelow(random, items.length)] as T;
}
