import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseOptions } from '../../bench/support/parse-options.ts';
import type { FuzzResult } from './child.ts';
import { fuzz } from './fuzz.ts';
import { FUZZ_TARGETS } from './targets.ts';

/**
 * `npm run test:fuzz`: gives random bytes to every part that reads bytes from outside. `--cases`
 * (in total) or `--seconds` (in total) bound it, `--target` selects one part, `--seed` repeats a
 * run. Inputs that break a promise are written to `test/fuzz/pinned`, which the tests replay.
 * Exits 1 if there are any.
 */

const PINNED = join(import.meta.dirname, 'pinned');
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

const HELP = `npm run test:fuzz -- [options]

Gives random bytes to every part that reads bytes from outside. Inputs that break a promise are
written to test/fuzz/pinned.

  --seconds <n>     how long, for all targets together (60, without --cases)
  --cases <n>       how many, for all targets together
  --target <name>   one of ${FUZZ_TARGETS.map(({ name }) => name).join(', ')}
  --seed <n>        repeats a run; each prints its seed
`;
const { values } = parseOptions(
  {
    options: {
      cases: { type: 'string' },
      seconds: { type: 'string' },
      target: { type: 'string' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    },
  },
  HELP,
);

function numberOf(flag: string, text: string): number {
  const value = Number(text);
  if (value >= 0 && value < UNBOUNDED) return value;
  process.stderr.write(`--${flag} is ${text}; it must be a number of at least 0\n`);
  process.exit(2);
}

const targets = FUZZ_TARGETS.filter(({ name }) => name === (values.target ?? name));
if (targets.length === 0) {
  process.stderr.write(`no target is named ${values.target}; --help prints all of them\n`);
  process.exit(2);
}
const seed = numberOf('seed', values.seed);
const bounded = values.cases !== undefined || values.seconds !== undefined;
const seconds = values.seconds ?? (bounded ? undefined : '60');
const weights = targets.reduce((sum, { weight = 1 }) => sum + weight, 0);
const casesTotal = values.cases === undefined ? UNBOUNDED : numberOf('cases', values.cases);
const forMsMax =
  seconds === undefined ? UNBOUNDED : (1000 * numberOf('seconds', seconds)) / targets.length;

process.stdout.write(`seed ${seed}\n`);
let total = 0;
for (const { name, weight = 1 } of targets) {
  const casesMax = Math.ceil((casesTotal * weight) / weights);
  const from = performance.now();
  let cases = 0;
  let failures = 0;
  let outcomes = 0;
  // After a failure the rest goes on from another seed, up to some failures.
  for (let round = 0; failures < 3; round++) {
    const forMs = forMsMax - (performance.now() - from);
    const left = casesMax - cases;
    if (forMs <= 0 || left <= 0) break;
    const [result] = await fuzz([{ target: name, seed: seed + round, cases: left, forMs }]);
    if (result === undefined) break;
    cases += result.cases;
    outcomes = Math.max(outcomes, result.outcomes);
    if (result.failure === undefined) break;
    failures += 1;
    report(name, result.failure);
  }
  const perSecond = Math.round((1000 * cases) / (performance.now() - from));
  total += cases;
  const row = [name.padEnd(18), `${cases} cases`.padEnd(16), `${perSecond}/s`.padEnd(12)];
  process.stdout.write(`${row.join('')}${`${outcomes} outcomes`.padEnd(16)}${failures} failures\n`);
  if (failures > 0) process.exitCode = 1;
}
process.stdout.write(`${total} cases in total\n`);

function report(name: string, failure: NonNullable<FuzzResult['failure']>): void {
  const input = Buffer.from(failure.input, 'base64');
  const hash = createHash('sha256').update(input).digest('hex').slice(0, 8);
  mkdirSync(PINNED, { recursive: true });
  const path = join(PINNED, `${name}-${hash}.bin`);
  writeFileSync(path, input);
  process.stdout.write(
    `FAILED ${name}: ${failure.error}\n  input of ${input.length} bytes: ${relative(process.cwd(), path)}\n`,
  );
}
