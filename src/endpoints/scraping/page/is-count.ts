import { isWithin } from './load-metric.ts';

/** Far more tokens in a block, blocks in a cache, and adapters at once than any engine has. */
export const CONFIG_COUNT_MAX = 1e9;

/** Engines report `None`, zero or infinity before they know the value. */
export function isCount(value: number | undefined): value is number {
  return Number.isInteger(value) && isWithin(value, CONFIG_COUNT_MAX) && value > 0;
}
