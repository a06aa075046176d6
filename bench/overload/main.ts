import { parseOptions } from '../support/parse-options.ts';
import type { Row } from './figures.ts';
import {
  autoscaling,
  batchFlood,
  leads,
  neighbour,
  overload,
  overloadByDefault,
  programs,
  type Scale,
  tenants,
} from './scenarios.ts';

/**
 * What must hold under overload, in simulation: `npm run bench -- overload`. Ends with 1 where a
 * bound is missed.
 */
const { values } = parseOptions({
  options: {
    seconds: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run bench -- overload [options]

  --seconds N   simulated seconds of each run (600)
  --seed N      the draw of all arrivals and sizes (1)
  --only A,B    only these: overload, overload-default, batch, tenants, neighbour, programs,
                headroom, autoscaling
  --json        print one JSON document
`;

const RUNS: ReadonlyMap<string, (scale: Scale) => readonly Row[]> = new Map([
  ['overload', overload],
  ['overload-default', overloadByDefault],
  ['batch', batchFlood],
  ['tenants', tenants],
  ['neighbour', neighbour],
  ['programs', programs],
  ['headroom', leads],
  ['autoscaling', autoscaling],
]);

if (values.help) process.stdout.write(HELP);
else run();

function run(): void {
  const scale = { seconds: Number(values.seconds), seed: Number(values.seed) };
  const only = values.only?.split(',');
  const rows = [...RUNS]
    .filter(([name]) => only?.includes(name) ?? true)
    .flatMap(([name, measure]) => {
      process.stderr.write(`${name} `);
      return measure(scale);
    });
  process.stderr.write('\n');
  process.stdout.write(values.json ? `${JSON.stringify(rows)}\n` : table(rows));
  if (rows.some(({ holds }) => !holds)) process.exitCode = 1;
}

function table(rows: readonly Row[]): string {
  const wide = Math.max(...rows.map(({ claim }) => claim.length));
  const lines = rows.map(({ claim, measured, bound, holds }) =>
    [claim.padEnd(wide), measured.padStart(8), bound.padEnd(8), holds ? 'holds' : 'MISSED'].join(
      '  ',
    ),
  );
  return `${lines.join('\n')}\n`;
}
