import { randomInt } from 'node:crypto';

/** A seed for `seededRandom` that differs from call to call, for callers that need no repeatable chance. */
export function randomSeed(): number {
  return randomInt(2 ** 31);
}
