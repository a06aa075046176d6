/** Up to which saturation each band is served. */

export interface UsageLimit {
  /** One ceiling for each priority, the highest first. A band is closed from its ceiling on. */
  ceilings(saturation: number, priorities: readonly number[]): readonly number[];
}

/** The same ceiling for all. */
export function staticLimit(threshold: number): UsageLimit {
  return { ceilings: (_saturation, priorities) => priorities.map(() => threshold) };
}

export interface HoldbackConfig {
  readonly minCeiling: number;
  readonly maxCeiling: number;
  /** Whether equal steps lie between the bands, or steps as large as those of the priorities. */
  readonly domain: 'rank' | 'value';
}

/** Low priorities stop at a lower saturation, so that high ones find room. */
export function holdback({ minCeiling, maxCeiling, domain }: HoldbackConfig): UsageLimit {
  const spread = maxCeiling - minCeiling;
  return {
    ceilings(_saturation, priorities) {
      const [highest = 0, lowest = 0] = [priorities[0], priorities.at(-1)];
      if (priorities.length < 2) return priorities.map(() => maxCeiling);
      return priorities.map((priority, rank) =>
        domain === 'rank'
          ? maxCeiling - (rank * spread) / (priorities.length - 1)
          : minCeiling + ((priority - lowest) / (highest - lowest)) * spread,
      );
    },
  };
}

/** A written ceiling for each priority. One that is not written is closed. */
export function explicitLimit(ceilings: ReadonlyMap<number, number>): UsageLimit {
  return {
    ceilings: (_saturation, priorities) =>
      priorities.map((priority) => ceilings.get(priority) ?? 0),
  };
}

/**
 * Low priorities get less and less of the turns as saturation rises. A band is open below
 * 1 − rank × saturation / (bands − 1); above it, all such bands open together in one of
 * saturation / (1 − saturation) calls, and from saturation 1 on in none.
 */
export function softReflective(): UsageLimit {
  let calls = 0;
  return {
    ceilings(saturation, priorities) {
      const steps = priorities.length - 1;
      const period = Math.max(1, Math.round(saturation / (1 - saturation + 1e-9)));
      const isGated = (rank: number): boolean =>
        rank > 0 && saturation >= 1 - (rank * saturation) / steps;
      if (saturation < 1 && steps > 0 && isGated(steps)) calls += 1;
      return priorities.map((_priority, rank) => {
        if (!isGated(rank)) return 1;
        return saturation < 1 && calls % period === 0 ? 1 : 0;
      });
    },
  };
}
