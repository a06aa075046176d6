import { availableParallelism, loadavg } from 'node:os';
import { Command } from 'commander';
import { alignedTable } from '../../src/framework/values/text-table.ts';
import { compare } from '../../src/lab/run-summary/compare.ts';
import { renderComparison } from '../../src/lab/run-summary/render-comparison.ts';
import { type LiveRun, type PolicyPair, pairUp } from './agreement.ts';
import { type Inputs, LATE_MS, live, type Sizes, simulated, withInputs } from './both-ways.ts';

/**
 * Measures whether a live replay and a simulation of the same requests agree: `npm run bench --
 * replay`. Live, the stubs run in real time behind a real Envoy with the picker; the simulation has
 * the same engines under the virtual clock.
 */

/** With these arrivals and engines their means differ by more than draws of one policy do. */
const POLICIES = 'default,reference-default,least-request,round-robin,random';
/** Medians may differ by this share. */
const APART_MAX = 0.1;
/** Draws show how much of a difference is chance. */
const DRAWS = 10;
/** Each draw moves arrivals by up to this, in the trace's own time. */
const SPREAD_MS = 500;

interface Flags extends Sizes {
  readonly policies: string;
  readonly json: boolean;
}

async function measure(inputs: Inputs, { policies, json }: Flags): Promise<void> {
  const names = policies.split(',');
  const same = await simulated(inputs, names, { seeds: 1, spreadMs: 0 });
  const draws = await simulated(inputs, names, { seeds: DRAWS, spreadMs: SPREAD_MS });
  const lives: LiveRun[] = [];
  for (const name of names) {
    process.stderr.write(`live: ${name}\n`);
    lives.push(await live(inputs, name));
  }
  const pairs = pairUp(same, draws, lives);
  const drawn = compare(draws);
  const document = { simulated: compare(same), draws: drawn, live: compare(lives), pairs };
  if (json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
  else {
    process.stdout.write(`simulated\n${renderComparison(document.simulated)}\n`);
    process.stdout.write(`simulated, ${DRAWS} draws\n${renderComparison(drawn)}\n`);
    process.stdout.write(`live, through Envoy\n${renderComparison(document.live)}\n`);
    process.stdout.write(`${verdict(pairs)}${loadNote(pairs)}\n`);
  }
  if (!pairs.every(isClose) || !pairs.every(isRankedAlike)) process.exitCode = 1;
}

/** A sentence about the load of this machine, which the live figures contain. */
function loadNote(pairs: readonly PolicyPair[]): string {
  const late = pairs.filter(({ lateMs }) => lateMs > LATE_MS).length;
  const [load = 0] = loadavg();
  const machine = `load average at the end: ${load.toFixed(1)}, on ${availableParallelism()} processors`;
  if (late === 0) return machine;
  return `${late} live runs sent requests more than ${LATE_MS} ms late, so their figures contain the load of this machine; ${machine}`;
}

function isClose({ liveMs, simulatedMs }: PolicyPair): boolean {
  return Math.abs(liveMs / simulatedMs - 1) <= APART_MAX;
}

function isRankedAlike({ liveRank, simulatedRank }: PolicyPair): boolean {
  return liveRank === simulatedRank;
}

function verdict(pairs: readonly PolicyPair[]): string {
  const heads = ['simulated', `${DRAWS} draws`, 'live', 'ratio', 'rank simulated', 'rank live'];
  const rows = pairs.map(
    ({ name, simulatedMs, drawsMs, liveMs, lateMs, simulatedRank, liveRank }) => [
      name,
      simulatedMs.toFixed(0),
      drawsMs.map((each) => each.toFixed(0)).join('–'),
      liveMs.toFixed(0),
      (liveMs / simulatedMs).toFixed(3),
      String(simulatedRank),
      String(liveRank),
      lateMs.toFixed(0),
    ],
  );
  const close = pairs.filter(isClose).length;
  const ranking = pairs.every(isRankedAlike) ? 'the same' : 'different';
  return [
    alignedTable([['median TTFT, ms', ...heads, 'late p99'], ...rows], 1),
    `${close} of ${pairs.length} medians within ${100 * APART_MAX} %; the ranking of ${pairs.length} policies is ${ranking}`,
    '',
  ].join('\n');
}

await new Command('replay')
  .description('compare a live replay through Envoy with a simulation of the same requests')
  .option('--policies <names>', 'configurations, separated by commas', POLICIES)
  .option('--requests <n>', 'use the first n requests of the trace', Number, 300)
  .option('--speed <times>', 'how many times faster than in the trace to send', Number, 1.5)
  .option('--stubs <n>', 'number of model servers', Number, 8)
  .option('--json', 'print one JSON document', false)
  .action((flags: Flags) => withInputs(flags, (inputs) => measure(inputs, flags)))
  .parseAsync();
