import { join, resolve } from 'node:path';
import { packageFile } from '../../src/files/folders.ts';
import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';
import { requireCheckout } from '../cost/against.ts';
import { addressesOf, startPicker, startUpstream } from '../load/bed.ts';
import { startTogether } from '../load/child.ts';
import { parseOptions } from '../support/parse-options.ts';
import { type PreparedRequest, prepareRequests } from './requests.ts';
import { MeasuredPicker } from './turns.ts';

const HELP = `npm run bench -- direct --against <folder> [options]

Measures the CPU of the picker for each request without Envoy: the bench itself speaks ext_proc
over one HTTP/2 connection. Both pickers get the same requests in many turns, one after the other.
Each counts with the cost that a fifth of its turns do not exceed, because other work on the machine
only makes turns dearer. A turn should have enough requests for a garbage collection. Prints the
ratio for each pair of processes, ours divided by the other's, and the median of the pairs.

  --against <folder>  another checkout with installed packages
  --kib <n>           size of the request body in KiB (1)
  --chunks <n>        events in each answer; 0 for a short JSON answer (0)
  --endpoints <n>     model servers, all scraped every 50 ms (8)
  --lanes <n>         requests at once (16)
  --warm-up <n>       requests before the first turn of each picker (6000)
  --turn <n>          requests in a turn (800)
  --turns <n>         turns of each picker (40)
  --pairs <n>         pairs of processes; each side comes first in every other one (4)
  --node-flags=<…>    start both with these flags of Node
  --ours-node=<…>     start ours with these flags of Node, too
  --ours-flags=<…>    start ours with these flags of serve
  --deciding-thread   count only the first thread of each, which decides: with --io-workers it bounds
                      how many requests a machine with many cores can serve
  --config <…>        configuration of both (default), such as one that scrapes seldom
  --ours-config <…>   configuration of ours, where it is another
`;

const QUIET_SHARE = 0.2;

const { values } = parseOptions({
  options: {
    help: { type: 'boolean', default: false },
    against: { type: 'string' },
    kib: { type: 'string', default: '1' },
    chunks: { type: 'string', default: '0' },
    endpoints: { type: 'string', default: '8' },
    lanes: { type: 'string', default: '16' },
    'warm-up': { type: 'string', default: '6000' },
    turn: { type: 'string', default: '800' },
    turns: { type: 'string', default: '40' },
    pairs: { type: 'string', default: '4' },
    'node-flags': { type: 'string', default: '' },
    'ours-node': { type: 'string', default: '' },
    'ours-flags': { type: 'string', default: '' },
    'deciding-thread': { type: 'boolean', default: false },
    config: { type: 'string', default: 'default' },
    'ours-config': { type: 'string' },
  },
});

interface PairResult {
  /** CPU ms for a request in a turn that other work hardly disturbs. */
  readonly oursMs: number;
  readonly othersMs: number;
}

/**
 * One pair of processes. Two processes of the same code may differ by several percent, and the one
 * that starts first and has the first turns is a little dearer.
 */
async function measurePair(
  folder: string,
  requests: readonly PreparedRequest[],
  oursFirst: boolean,
): Promise<PairResult> {
  const log = (): void => undefined;
  const nodeFlags = words(values['node-flags']);
  const oursNode = [...nodeFlags, ...words(values['ours-node'])];
  const bed = await startTogether(async (keep) => {
    const endpoints = Number(values.endpoints);
    const upstream = await startUpstream({ endpoints, page: 'small', answerChunks: 0 }, { log });
    const addresses = addressesOf(keep(upstream));
    const start = async (
      options: { readonly config: string; readonly flags: readonly string[] },
      root: string,
      node: readonly string[],
    ): Promise<MeasuredPicker> => {
      const main = join(root, 'src/main.ts');
      const child = await startPicker({ ...options, main }, addresses, { log, nodeFlags: node });
      return new MeasuredPicker(keep(child), values['deciding-thread'] ? 'deciding' : 'all');
    };
    const { config, 'ours-config': oursConfig = config } = values;
    const oursOptions = { config: oursConfig, flags: words(values['ours-flags']) };
    const startOurs = (): Promise<MeasuredPicker> => start(oursOptions, packageFile('.'), oursNode);
    const startOther = (): Promise<MeasuredPicker> =>
      start({ config, flags: [] }, folder, nodeFlags);
    const [first, second] = oursFirst ? [startOurs, startOther] : [startOther, startOurs];
    const started = [await first(), await second()] as const;
    const [ours, other] = oursFirst ? started : ([started[1], started[0]] as const);
    return { ours, other };
  });
  const { ours, other } = bed;
  try {
    const [oursMs, othersMs] = oursFirst
      ? await takeTurns([ours, other], requests)
      : (await takeTurns([other, ours], requests)).toReversed();
    return { oursMs: oursMs ?? Number.NaN, othersMs: othersMs ?? Number.NaN };
  } finally {
    ours.close();
    other.close();
    await bed.stop();
  }
}

/** CPU ms for a request of each side, in a turn that other work hardly disturbs. */
async function takeTurns(
  sides: readonly [MeasuredPicker, MeasuredPicker],
  requests: readonly PreparedRequest[],
): Promise<readonly number[]> {
  const lanes = Number(values.lanes);
  const [warmUp, turn] = [Number(values['warm-up']), Number(values.turn)];
  for (const side of sides) side.pause();
  for (const side of sides) await side.turn(requests, warmUp, lanes);
  const costs = sides.map((): number[] => []);
  for (let index = 0; index < Number(values.turns); index++) {
    for (const [at, side] of sides.entries()) {
      costs[at]?.push(await side.turn(requests, turn, lanes));
    }
  }
  return costs.map((turns) => quantile(sorted(turns), QUIET_SHARE));
}

function words(text: string): readonly string[] {
  return text.split(' ').filter((word) => word !== '');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  if (values.against === undefined) throw new Error('--against <folder> is missing');
  const folder = resolve(values.against);
  requireCheckout(folder);
  const requests = prepareRequests(Number(values.kib), Number(values.chunks));
  const ratios: number[] = [];
  for (let pair = 1; pair <= Number(values.pairs); pair++) {
    const { oursMs, othersMs } = await measurePair(folder, requests, pair % 2 === 1);
    const ratio = oursMs / othersMs;
    ratios.push(ratio);
    const ms = `${oursMs.toFixed(4)} ms and ${othersMs.toFixed(4)} ms`;
    say(`pair ${pair}: ${ratio.toFixed(3)} × (${ms} for a request)`);
  }
  const range = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`;
  const about = `${values.kib} KiB, ${values.chunks} chunks, ${values.endpoints} endpoints`;
  say(`${about}: ${quantile(sorted(ratios), 0.5).toFixed(3)} × (${range})`);
}

// On `exit` the remaining children are killed.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
await main();
