import type { Random } from '../../src/framework/runtime.ts';

/** A value stays within this share of its mean, as in llm-d-inference-sim. */
const SPREAD_MAX = 0.7;

/** A standard normal draw by the method of Box and Muller. */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

/** A normal draw that stays within 70 % of its mean. Draws nothing without a deviation. */
export function near(mean: number, deviation: number, random: Random): number {
  if (deviation === 0) return mean;
  const drawn = mean + deviation * normal(random);
  return Math.min(Math.max(drawn, (1 - SPREAD_MAX) * mean), (1 + SPREAD_MAX) * mean);
}
