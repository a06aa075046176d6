import { expect, it } from 'vitest';
import { expectNoFault } from './faults.ts';
import { codeOnly, readText, sourceFiles } from './source-tree.ts';

/** Values that are other ones in each run. */
const UNSEEDED =
  /\bMath\s*\.\s*random\b|\brandomSeed\b|import\s*\{[^}]*\brandom(?:Bytes|Int|UUID|Fill\w*)\b[^}]*\}\s*from 'node:crypto'/g;
/** Where fast-check draws. */
const DRAW = /\bfc\s*\.\s*(?:assert|check|sample|statistics)\s*\(/g;

/** What is drawn in this code without a seed that stands in it, by the line. */
function unseeded(text: string): readonly string[] {
  const code = codeOnly(text);
  const draws = [...code.matchAll(DRAW)].filter(
    ({ index, 0: call }) => !/\bseed\b/.test(argumentsAt(code, index + call.length)),
  );
  return [...text.matchAll(UNSEEDED), ...draws].map(({ 0: found }) =>
    found.replaceAll(/\s+/g, ' '),
  );
}

/** The arguments of a call whose parenthesis ends before `from`. */
function argumentsAt(code: string, from: number): string {
  let open = 1;
  let at = from;
  for (; at < code.length && open > 0; at++) {
    if (code[at] === '(') open += 1;
    else if (code[at] === ')') open -= 1;
  }
  return code.slice(from, at);
}

it('[T82] draws nothing in a test without a seed that stands in it', () => {
  const tests = sourceFiles().filter(
    (path) => path.endsWith('.test.ts') && path !== 'test/house/seeds.test.ts',
  );
  const draws = tests.flatMap((path) => [...readText(path).matchAll(DRAW)]);
  expect(draws.length).toBeGreaterThan(90);
  expectNoFault(
    tests.flatMap((path) => unseeded(readText(path)).map((found) => `${path}: ${found}`)),
    'give these a seed ({ seed: SEED } for fast-check), or draw with seededRandom or byteSource, so that a failure comes again',
  );
});

it.each([
  'fc.assert(fc.property(fc.nat(), (n) => n >= 0));',
  'fc.assert(fc.property(fc.nat(), (n) => n >= 0), { numRuns: 5 }); const seed = 1;',
  'const [seed] = fc.sample(fc.integer(), 1);',
  "import { createHash, randomBytes } from 'node:crypto';",
  'const id = Math.random();',
])('[T82] finds %s', (code) => {
  expect(unseeded(code)).toHaveLength(1);
});

it.each([
  'fc.assert(fc.property(fc.nat(), (n) => n >= 0), { seed: 3 });',
  'await fc.assert(property, { numRuns: 5, seed });',
])('[T82] lets %s pass', (code) => {
  expect(unseeded(code)).toEqual([]);
});
