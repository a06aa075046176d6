import type { Millis, Random } from '../../src/framework/runtime.ts';

/** Time to the next arrival of a Poisson process. */
export function exponential(random: Random, meanMs: Millis): Millis {
  return -Math.log(1 - random.next()) * meanMs;
}

/** A log-normal draw with this median; `spread` is the standard deviation of its logarithm. */
export function logNormal(random: Random, median: number, spread: number): number {
  const normal =
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return median * Math.exp(spread * normal);
}

/** An index below `count`, Zipf with exponent `skew`: index 0 is the most popular. */
export function zipf(random: Random, count: number, skew: number): number {
  let total = 0;
  for (let index = 1; index <= count; index++) total += index ** -skew;
  let left = random.next() * total;
  for (let index = 1; index <= count; index++) {
    left -= index ** -skew;
    if (left <= 0) return index - 1;
  }
  return count - 1;
}

/** Poisson arrivals with this mean; the rate switches between a calm one and `burst` times it. */
export function burstyArrivals(
  random: Random,
  options: {
    readonly count: number;
    readonly meanMs: Millis;
    readonly burst: number;
    readonly phaseMs: Millis;
  },
): readonly Millis[] {
  const { count, meanMs, burst, phaseMs } = options;
  // Half the time each: the mean rate is (1 + burst) / 2 times the calm one.
  const calmMs = (meanMs * (1 + burst)) / 2;
  const times: Millis[] = [];
  let now = 0;
  let inBurst = false;
  let phaseEnds = exponential(random, phaseMs);
  while (times.length < count) {
    const gap = exponential(random, inBurst ? calmMs / burst : calmMs);
    if (now + gap > phaseEnds) {
      now = phaseEnds;
      inBurst = !inBurst;
      phaseEnds = now + exponential(random, phaseMs);
      continue;
    }
    now += gap;
    times.push(now);
  }
  return times;
}
