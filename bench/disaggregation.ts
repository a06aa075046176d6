import { compareDisaggregation } from './scenarios/compare-disaggregation.ts';
import { DISAGGREGATED_POOLS } from './scenarios/disaggregation.ts';
import { parseOptions } from './support/parse-options.ts';

/**
 * Compares, at several loads, prefill on the decoding server (local), always on another server
 * (split), and where the cost decider chooses (cost): `npm run bench -- disaggregation`. Prints
 * mean times to first token and end to end in milliseconds, each with the decider's objective for
 * it.
 */
const HELP = `npm run bench -- disaggregation [options]

Simulates prefill on the decoding server, on another, and where the cost decider chooses, and prints
the mean times to first token and end to end.

  --seeds <n>      draws of each load (3)
  --requests <n>   requests of each draw (1500)
`;
const { values } = parseOptions(
  {
    options: {
      seeds: { type: 'string', default: '3' },
      requests: { type: 'string', default: '1500' },
    },
  },
  HELP,
);
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
const requests = Number(values.requests);
const SHAPES = [
  { promptTokens: 1000, rates: [5, 20, 60, 100, 120] },
  { promptTokens: 4000, rates: [2, 10, 25, 35, 45] },
  { promptTokens: 12_000, rates: [1, 4, 8, 12, 14] },
] as const;

const HEAD = ['pool', 'tokens', 'req/s', 'TTFT local', 'split', 'cost', 'ratio'];
const cells = (row: readonly string[]): string =>
  row
    .map((cell, at) => (at === 0 ? cell.padEnd(22) : cell.padStart(at === 3 || at === 7 ? 12 : 8)))
    .join('');

process.stdout.write(`${cells([...HEAD, 'E2E local', 'split', 'cost', 'ratio'])}\n`);
let worst = 0;
for (const pool of DISAGGREGATED_POOLS.keys()) {
  for (const { promptTokens, rates } of SHAPES) {
    for (const perSecond of rates) {
      const load = { pool, perSecond, promptTokens, requests, seeds };
      const { figures, ttftRatio, e2eRatio } = compareDisaggregation(load);
      const { local, split, firstToken, endToEnd } = figures;
      worst = Math.max(worst, ttftRatio, e2eRatio);
      const ttft = [local, split, firstToken].map((each) => (each?.ttftMs ?? 0).toFixed(0));
      const e2e = [local, split, endToEnd].map((each) => (each?.e2eMs ?? 0).toFixed(0));
      const load3 = [pool, String(promptTokens), String(perSecond)];
      const row = [...load3, ...ttft, ttftRatio.toFixed(3), ...e2e, e2eRatio.toFixed(3)];
      process.stdout.write(`${cells(row)}\n`);
    }
  }
}
process.stdout.write(`\nworst ratio to the better of the two: ${worst.toFixed(3)}\n`);
