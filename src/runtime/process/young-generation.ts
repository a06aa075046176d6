import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** The size of each of the two halves. By measurement: docs/performance.md. */
const HALF_BYTES = 4 * 2 ** 20;
/** Objects that live while the young generation grows to its size. */
const ITEMS = 4096;
const ROUNDS_MAX = 2000;

const FLAG = 'semi-space';

/**
 * Grows V8's young generation to 8 MB and lets it grow no further; by itself it grows to 32 MB.
 * Bytes of bodies live outside the heap, and V8 collects the whole heap when they have become too
 * many since the last collection. A small young generation is collected often, which frees nearly
 * all of them. V8 makes it as small as 2 MB while little happens; it may then grow to 8 MB again.
 * Does nothing where Node was started with a size of its own.
 */
export function limitYoungGeneration(given: readonly string[]): void {
  if (given.some((flag) => flag.includes(FLAG))) return;
  let living: number[][] = [];
  for (let round = 0; round < ROUNDS_MAX && isSmall(); round++) {
    living.push(Array.from({ length: ITEMS }, () => round));
    if (living.length * ITEMS * 8 > 4 * HALF_BYTES) living = [];
  }
  // The size itself can only be given when the process starts; the growth can be changed later.
  let grows = true;
  const allowGrowth = (): void => {
    if (grows === isSmall()) return;
    grows = !grows;
    setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`);
  };
  allowGrowth();
  new PerformanceObserver(allowGrowth).observe({ entryTypes: ['gc'] });
}

function isSmall(): boolean {
  return sizeBytes() < 2 * HALF_BYTES;
}

function sizeBytes(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return space?.space_size ?? Number.POSITIVE_INFINITY;
}
