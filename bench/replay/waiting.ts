import { loadavg } from 'node:os';
import { Command } from 'commander';
import { packageFile } from '../../src/files/folders.ts';
import type { Run } from '../../src/lab/run-summary/compare.ts';
import { compare, type Overhead } from '../overhead/compare.ts';
import { overheadText } from '../overhead/options.ts';
import { gainOf, type LiveRun, type WaitingMeans } from './agreement.ts';
import { type Inputs, LATE_MS, live, type Sizes, simulated, withInputs } from './both-ways.ts';

/**
 * Measures through a real Envoy what it brings and costs that requests wait for their endpoint:
 * `npm run bench -- waiting`. The mean time to the first token of more requests than the stubs can
 * serve in time, as a share of that without waiting, live and simulated; and the picker's CPU for a
 * request where none has to wait.
 */

const AT_ONCE = packageFile('deploy/examples/without-hold.yaml');
/** The live share may differ from the simulated one by this share. */
const APART_MAX = 0.1;
const CPU_MORE_MAX = 0.03;
/**
 * Near its limit a pool goes one of two ways by chance, so that single draws lie up to two thirds
 * above the others.
 */
const DRAWS = 40;
/** Each draw moves arrivals by up to this, in the trace's own time: live they come so late, too. */
const SPREAD_MS = 60;
const ENDPOINTS = 8;

interface Flags extends Sizes {
  readonly rounds: number;
  readonly beds: number;
  readonly json: boolean;
}

function meansOf(waiting: Run, atOnce: Run): WaitingMeans {
  return { waitingMs: waiting.summary.ttftMeanMs, atOnceMs: atOnce.summary.ttftMeanMs };
}

/** Both configurations on each draw. */
async function simulatedMeans(inputs: Inputs): Promise<readonly WaitingMeans[]> {
  const runs = await simulated(inputs, ['default', AT_ONCE], { seeds: DRAWS, spreadMs: SPREAD_MS });
  const waiting = runs.filter(({ job }) => job.name === 'default');
  const atOnce = runs.filter(({ job }) => job.name !== 'default');
  return waiting.map((run, draw) => meansOf(run, atOnce[draw] as Run));
}

/** One after the other; each round begins with the other one. */
async function liveRounds(
  inputs: Inputs,
  rounds: number,
): Promise<readonly (readonly LiveRun[])[]> {
  const done: (readonly LiveRun[])[] = [];
  for (let round = 0; round < rounds; round++) {
    process.stderr.write(`live: round ${round + 1} of ${rounds}\n`);
    const isTurned = round % 2 === 1;
    const first = await live(inputs, isTurned ? AT_ONCE : 'default');
    const second = await live(inputs, isTurned ? 'default' : AT_ONCE);
    done.push(isTurned ? [second, first] : [first, second]);
  }
  return done;
}

function overheadOfWaiting({ beds }: Flags, envoyPath: string): Promise<Overhead> {
  const flags = { without: ['--config', AT_ONCE], with: [] };
  const effort = { beds, rounds: 8, windowMs: 2000, warmUpMs: 4000 };
  const tools = { envoyPath, other: undefined, nodeFlags: [], log: () => undefined };
  return compare({ endpoints: ENDPOINTS, flags, ...effort }, tools, async () => undefined);
}

function shareText(means: readonly WaitingMeans[]): string {
  return means.map(({ waitingMs, atOnceMs }) => (waitingMs / atOnceMs).toFixed(3)).join(', ');
}

async function measure(inputs: Inputs, flags: Flags): Promise<void> {
  const draws = await simulatedMeans(inputs);
  const runs = await liveRounds(inputs, flags.rounds);
  const rounds = runs.map(([waiting, atOnce]) => meansOf(waiting as Run, atOnce as Run));
  const gain = gainOf(draws, rounds);
  const lateMs = Math.max(...runs.flat().map(({ replay }) => replay.late.p99));
  const overhead = await overheadOfWaiting(flags, inputs.envoy);
  const isAlike = Math.abs(gain.ratio - 1) <= APART_MAX;
  const isCheap = overhead.share.median <= CPU_MORE_MAX;
  const document = { gain, draws, rounds, lateMs, overhead, isAlike, isCheap };
  const word = (holds: boolean): string => (holds ? 'holds' : 'missed');
  const text = `mean TTFT with waiting over that at once
  simulated, the median ${gain.simulated.toFixed(3)}; nine of ten draws ${gain.drawn.map((each) => each.toFixed(3)).join(' to ')}
  live, each round      ${shareText(rounds)}
  live over simulated   ${gain.ratio.toFixed(3)}: ${word(isAlike)} (asked: 1 ± ${APART_MAX})
CPU for a request that does not wait, without and with waiting switched on
  ${overheadText(overhead)}: ${word(isCheap)} (asked: at most ${100 * CPU_MORE_MAX} % more)
requests were sent up to ${lateMs.toFixed(0)} ms late (p99)${lateMs > LATE_MS ? ', so the live figures contain the load of this machine' : ''}; load average ${(loadavg()[0] ?? 0).toFixed(1)}
`;
  process.stdout.write(flags.json ? `${JSON.stringify(document, undefined, 2)}\n` : text);
  if (!isAlike || !isCheap) process.exitCode = 1;
}

await new Command('waiting')
  .description('what it brings and costs that requests wait for their endpoint, through Envoy')
  .option('--requests <n>', 'use the first n requests of the trace', Number, 300)
  .option('--speed <times>', 'how many times faster than in the trace to send', Number, 3)
  .option('--stubs <n>', 'number of model servers', Number, 4)
  .option('--rounds <n>', 'live replays of each', Number, 3)
  .option('--beds <n>', 'pairs of picker processes for the CPU', Number, 3)
  .option('--json', 'print one JSON document', false)
  .action((flags: Flags) => withInputs(flags, (inputs) => measure(inputs, flags)))
  .parseAsync();
