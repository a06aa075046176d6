import { randomInt } from 'node:crypto';

/** A seed for `seededRandom` that differs from call to call. */
export function randomSeed(): number {
  return randomInt(2 ** 31);
}
