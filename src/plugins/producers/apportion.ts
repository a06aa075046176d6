/**
 * Divides `total` among classes by weight, in whole numbers, with the largest remainder method.
 * Each class gets at least `least` where `total` allows it. Weights that are all 0 count as equal.
 */
export function apportion(
  weights: ReadonlyMap<string, number>,
  { total, least }: { readonly total: number; readonly least: number },
): ReadonlyMap<string, number> {
  const floor = Math.min(least, Math.floor(total / weights.size));
  const left = total - floor * weights.size;
  const sum = [...weights.values()].reduce((a, b) => a + b, 0);
  const shares = [...weights].map(([name, weight]) => {
    const ideal = sum > 0 ? (weight / sum) * total : total / weights.size;
    // The part above the floor, which every class has already.
    return { name, over: Math.max(0, ideal - floor) };
  });
  const overs = shares.reduce((a, { over }) => a + over, 0);
  const exact = shares.map(({ name, over }) => {
    const more = overs > 0 ? (over / overs) * left : left / weights.size;
    return { name, count: floor + Math.floor(more), rest: more - Math.floor(more) };
  });
  let missing = total - exact.reduce((a, { count }) => a + count, 0);
  const counts = new Map(exact.map(({ name, count }) => [name, count]));
  for (const { name } of [...exact].sort((a, b) => b.rest - a.rest)) {
    if (missing === 0) break;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    missing -= 1;
  }
  return counts;
}
