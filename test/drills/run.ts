import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * `npm run test:drills`: breaks things under load behind a real Envoy and prints what was measured
 * beside what is asked. `npm run test:drills -- kill-picker gateway-gone` runs some of them, and
 * `node test/drills/kill-picker.ts` one. Needs a machine without other work, or less load:
 * `DRILL_PER_SECOND=40`, and `DRILL_REQUESTS=2400` for those that count requests, `request-storm`,
 * `rolling-restart` and `gateway-restarts`, which last longer with less load. Exits 1 where a bound is missed.
 */

/** 100,000 requests with faults take a quarter of an hour on two idle cores. */
const LIMIT_MS = 90 * 60_000;
const NO_DRILLS: ReadonlySet<string> = new Set(['run', 'support', 'endpoint-fault']);

const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .map((file) => basename(file, '.ts'))
  .filter((name) => !NO_DRILLS.has(name));
const names = process.argv.length > 2 ? process.argv.slice(2) : all;
const unknown = names.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`no drill is named ${unknown.join(', ')}; there are ${all.join(', ')}\n`);
  process.exit(2);
}

const missed = names.filter((name) => {
  const { status } = spawnSync(process.execPath, [join(import.meta.dirname, `${name}.ts`)], {
    stdio: 'inherit',
    timeout: LIMIT_MS,
  });
  return status !== 0;
});
process.stdout.write(
  missed.length === 0
    ? `${names.length} drills, every bound holds\n`
    : `${names.length} drills; bounds are missed in ${missed.join(', ')}\n`,
);
process.exitCode = missed.length === 0 ? 0 : 1;
