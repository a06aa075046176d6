/** A search takes about ten runs; how many is not known before its end. */
const OF_WHAT_IS_LEFT = 0.2;

/**
 * How far a job is, from 0 to 1, after so many runs, of which the last may be a part. A search for the
 * highest load takes an unknown number of runs, so each of them is a fifth of what is left.
 */
export function jobShare(runs: number, searches: boolean): number {
  return searches ? 1 - (1 - OF_WHAT_IS_LEFT) ** runs : Math.min(1, runs);
}
