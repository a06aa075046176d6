import { readFileSync, writeFileSync } from 'node:fs';
import { packageFile } from '../../src/files/folders.ts';
import type { Baseline } from './baselines.ts';
import type { Candidate } from './simulate-candidates.ts';

/** A setting of a baseline: names in `BASELINES` or `DISAGGREGATION_BASELINES`. */
export interface Setting {
  readonly policy: string;
  readonly variant: string;
}

/** The settings of other policies that were found best for a scenario, on draws for tuning. */
export interface TunedRow {
  readonly scenario: string;
  /** The day on which they were found. */
  readonly found: string;
  /**
   * `grid`: every setting on a full draw, and the best of each baseline on the draws of the
   * comparison, of which the best is kept. `race`: as `tune` does. `shipped`: not tuned.
   */
  readonly by: 'grid' | 'race' | 'shipped';
  readonly finalists: readonly Setting[];
  /** Baselines that are compared as shipped, too. */
  readonly shipped: readonly string[];
}

const FILE = packageFile('bench/policies/tuned.json');

export function readTuned(): ReadonlyMap<string, TunedRow> {
  const rows = JSON.parse(readFileSync(FILE, 'utf8')) as readonly TunedRow[];
  return new Map(rows.map((row) => [row.scenario, row]));
}

/** Replaces the rows of these scenarios, and keeps those of others. */
export function writeTuned(rows: readonly TunedRow[]): void {
  const all = new Map([...readTuned(), ...rows.map((row) => [row.scenario, row] as const)]);
  writeFileSync(FILE, `${JSON.stringify([...all.values()], undefined, 2)}\n`);
}

/**
 * The baselines of a row with their configurations. Throws an Error for a name that there is not.
 */
export function rivalsOf(row: TunedRow, baselines: readonly Baseline[]): readonly Candidate[] {
  const settings = [...row.shipped.map((policy) => ({ policy, variant: '' })), ...row.finalists];
  const byName = new Map(
    settings.map(({ policy, variant }) => {
      const config = baselines.find(({ name }) => name === policy)?.variants.get(variant);
      if (config === undefined)
        throw new Error(
          `tuned.json, ${row.scenario}: there is no ${policy} ${JSON.stringify(variant)}; ` +
            `run \`npm run bench -- policies --tune --only ${row.scenario}\``,
        );
      return [`${policy} ${variant}`, { policy, variant, config }];
    }),
  );
  return [...byName.values()];
}
