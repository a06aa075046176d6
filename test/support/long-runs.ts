/** Whether the tests run with `npm run test:long`. */
export const isLong: boolean = process.env['POINTSMAN_LONG_TESTS'] === '1';

/**
 * Rows of a table of tests that only long runs have: more random cases of a claim that other rows
 * hold in each run.
 */
export function inLongRuns<Row>(...rows: readonly Row[]): readonly Row[] {
  return isLong ? rows : [];
}
