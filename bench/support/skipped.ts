import { spawnSync } from 'node:child_process';

/** Prints what is not tested and why. Throws in CI, where Go could have built what is missing. */
export function skipped(what: string, why: string): undefined {
  const hasGo = spawnSync('go', ['version']).status === 0;
  if (process.env['CI'] !== undefined && hasGo) throw new Error(why);
  process.stderr.write(`SKIPPED: ${what}. ${why}\n`);
  return undefined;
}
