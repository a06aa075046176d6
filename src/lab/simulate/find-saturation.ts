/** One load that was tried, and whether the objective was met under it. */
export interface Probe {
  readonly speed: number;
  readonly meets: boolean;
}

/**
 * The highest load that meets the objective: `found` if one 2 % above it does not, `above` if it is
 * the highest that may be tried. `below`: even the lowest that may be tried misses the objective.
 */
export type Saturation<P extends Probe> =
  | { readonly outcome: 'found' | 'above'; readonly best: P; readonly probes: readonly P[] }
  | { readonly outcome: 'below'; readonly probes: readonly P[] };

/** The precision of the limit as a ratio. Draws differ by more. */
const PRECISION = 1.02;

/**
 * Finds the highest load that meets an objective: doubles or halves `from` until the limit is
 * between two loads, then bisects their ratio. If more load helps in places (it can a little,
 * because caches stay warm), it finds one of the crossings. Takes about six measurements and one
 * for each doubling. `probes` are in order of load.
 */
export async function findSaturation<P extends Probe>(
  measure: (speed: number) => Promise<P>,
  { from, min, max }: { readonly from: number; readonly min: number; readonly max: number },
): Promise<Saturation<P>> {
  const probes: P[] = [];
  const probe = async (speed: number): Promise<P> => {
    const result = await measure(speed);
    probes.push(result);
    return result;
  };
  const sorted = (): readonly P[] => probes.toSorted((a, b) => a.speed - b.speed);
  const first = await probe(from);
  let best = first.meets ? first : undefined;
  let missed = first.meets ? undefined : first;
  while (best === undefined || missed === undefined) {
    const speed = best === undefined ? (missed?.speed ?? from) / 2 : 2 * best.speed;
    const next = Math.min(Math.max(speed, min), max);
    if (next === best?.speed) return { outcome: 'above', best, probes: sorted() };
    if (next === missed?.speed) return { outcome: 'below', probes: sorted() };
    const result = await probe(next);
    if (result.meets) best = result;
    else missed = result;
  }
  while (missed.speed / best.speed > PRECISION) {
    const result = await probe(Math.sqrt(missed.speed * best.speed));
    if (result.meets) best = result;
    else missed = result;
  }
  return { outcome: 'found', best, probes: sorted() };
}
