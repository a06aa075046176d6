/** One load that was tried, and whether the objective was met under it. */
export interface Probe {
  readonly speed: number;
  readonly meets: boolean;
}

/** Where the objective stops being met. */
export type Saturation<P extends Probe> =
  /** `best` met it, and a load 2 % above it did not. */
  | { readonly outcome: 'found'; readonly best: P; readonly probes: readonly P[] }
  /** Met at the highest load that may be tried, too. */
  | { readonly outcome: 'above'; readonly best: P; readonly probes: readonly P[] }
  /** Missed at the lowest load that may be tried, too. */
  | { readonly outcome: 'below'; readonly probes: readonly P[] };

/** The limit is known to one part in fifty; draws differ by more. */
const PRECISION = 1.02;

/**
 * The highest load that meets an objective, by doubling or halving from `from` until it is between two loads, then
 * bisecting their ratio. Where more load may help (it can, a little: caches stay warm) it finds one of the crossings. About
 * six measurements and one for each doubling. `probes` are in order of load.
 */
export function findSaturation<P extends Probe>(
  measure: (speed: number) => P,
  { from, min, max }: { readonly from: number; readonly min: number; readonly max: number },
): Saturation<P> {
  const probes: P[] = [];
  const probe = (speed: number): P => {
    const result = measure(speed);
    probes.push(result);
    return result;
  };
  const sorted = (): readonly P[] => probes.toSorted((a, b) => a.speed - b.speed);
  const first = probe(from);
  let best = first.meets ? first : undefined;
  let missed = first.meets ? undefined : first;
  while (best === undefined || missed === undefined) {
    const speed = best === undefined ? (missed?.speed ?? from) / 2 : 2 * best.speed;
    const next = Math.min(Math.max(speed, min), max);
    if (next === best?.speed) return { outcome: 'above', best, probes: sorted() };
    if (next === missed?.speed) return { outcome: 'below', probes: sorted() };
    const result = probe(next);
    if (result.meets) best = result;
    else missed = result;
  }
  while (missed.speed / best.speed > PRECISION) {
    const result = probe(Math.sqrt(missed.speed * best.speed));
    if (result.meets) best = result;
    else missed = result;
  }
  return { outcome: 'found', best, probes: sorted() };
}
