import { resolve } from 'node:path';
import { Bench } from 'tinybench';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { packageFile } from '../../src/files/folders.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import { requireCheckout } from '../cost/against.ts';
import { parseOptions } from '../support/parse-options.ts';
import { compare } from './compare.ts';
import {
  codeOf,
  makePicker,
  makeRequests,
  type PickCode,
  picking,
  REQUESTS,
  type Row,
  SEED,
} from './picking.ts';

/**
 * Measures one decision: the whole of `route`, which makes the context and its facts, filters,
 * scores, picks, reserves and calls every plugin, then the release. One endpoint gets a new sample
 * before each pick, so that no pick reuses the snapshot of the previous one. Prompts are hashed
 * beforehand, because a session hashes them while their bytes arrive.
 */

const FIVE_SCORERS = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: running-requests-size-scorer
- type: kv-cache-utilization-scorer
- type: active-request-scorer
- type: prefix-cache-scorer
`;

interface Figure extends Omit<Row, 'config'> {
  readonly picks: number;
  /** Median of the rounds. */
  readonly p50Micros: number;
  readonly p99Micros: number;
  /** The lowest p99 of all rounds: on a busy machine the other rounds measure the OS scheduler. */
  readonly p99QuietestMicros: number;
}

const DEFAULT = NAMED_CONFIGS.get('default') ?? '';
const REFERENCE = NAMED_CONFIGS.get('reference-default') ?? '';

const ROWS: readonly Row[] = [
  { policy: 'five scorers', config: FIVE_SCORERS, endpoints: 100, promptTokens: 6400 },
  { policy: 'reference default', config: REFERENCE, endpoints: 100, promptTokens: 6400 },
  { policy: 'default', config: DEFAULT, endpoints: 100, promptTokens: 6400 },
  { policy: 'five scorers', config: FIVE_SCORERS, endpoints: 256, promptTokens: 100_000 },
  { policy: 'default', config: DEFAULT, endpoints: 256, promptTokens: 100_000 },
];

async function measure(
  code: PickCode,
  row: Row,
  requests: readonly InferenceRequest[],
  { rounds, seconds }: Effort,
): Promise<Figure> {
  const { policy, endpoints, promptTokens } = row;
  const picker = makePicker(code, row);
  const pick = picking(code, picker, requests);
  // Fills the prefix index, as in a picker that has run for a long time.
  for (let warm = 0; warm < REQUESTS; warm++) pick();
  const p50: number[] = [];
  const p99: number[] = [];
  let picks = 0;
  for (let round = 0; round < rounds; round++) {
    const bench = new Bench({ time: (seconds * 1000) / rounds, warmup: false });
    bench.add(policy, pick);
    const [task] = await bench.run();
    const result = task?.result;
    if (result === undefined || !('latency' in result)) {
      throw new Error(`tinybench has no figures for ${policy} over ${endpoints} endpoints`);
    }
    p50.push(result.latency.p50 * 1000);
    p99.push(result.latency.p99 * 1000);
    picks += result.latency.samplesCount;
  }
  picker.stop();
  return {
    policy,
    endpoints,
    promptTokens,
    picks,
    p50Micros: tenths(median(p50)),
    p99Micros: tenths(median(p99)),
    p99QuietestMicros: tenths(Math.min(...p99)),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

interface Effort {
  readonly rounds: number;
  readonly seconds: number;
}

const HELP = `npm run bench -- pick [options]

Measures the time of one decision, without protocol and sockets, with several policies. Prints the
medians of p50 and p99 over several rounds, and the lowest p99 of all rounds.

  --seconds <n>   duration of each row (5)
  --rounds <n>    rounds within that time (5)
  --json          print one JSON document
  --against <folder>  another checkout with installed packages: both decide in turn in this process, so
                      that other work on the machine disturbs both alike. Prints CPU and its ratio,
                      with the default policy and prompts of 1 KB.
`;

function effortOf(values: { readonly seconds: string; readonly rounds: string }): Effort {
  const seconds = Number(values.seconds);
  const rounds = Number(values.rounds);
  if (!(seconds > 0)) throw new Error(`--seconds must be above 0, not ${values.seconds}`);
  if (!(Number.isInteger(rounds) && rounds > 0)) {
    throw new Error(`--rounds must be a whole number above 0, not ${values.rounds}`);
  }
  return { seconds, rounds };
}

async function main(): Promise<void> {
  const { values } = parseOptions({
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '5' },
      json: { type: 'boolean', default: false },
      against: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const code = await codeOf(packageFile('.'));
  if (values.against !== undefined) {
    const folder = resolve(values.against);
    requireCheckout(folder);
    process.stdout.write(compare({ ours: code, other: await codeOf(folder), config: DEFAULT }));
    return;
  }
  const effort = effortOf(values);
  const print = (line: string): void => void (values.json || process.stdout.write(`${line}\n`));
  const figures: Figure[] = [];
  print('policy              endpoints  prompt tokens   p50 µs   p99 µs  quietest p99 µs');
  const requestsOf = new Map<number, readonly InferenceRequest[]>();
  for (const row of ROWS) {
    const requests = requestsOf.get(row.promptTokens) ?? makeRequests(code, row.promptTokens);
    requestsOf.set(row.promptTokens, requests);
    const figure = await measure(code, row, requests, effort);
    figures.push(figure);
    print(asLine(figure));
  }
  const document = { seed: SEED, ...effort, figures };
  if (values.json) process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
}

function asLine({ policy, endpoints, promptTokens, ...figure }: Figure): string {
  return [
    policy.padEnd(18),
    String(endpoints).padStart(10),
    String(promptTokens).padStart(14),
    figure.p50Micros.toFixed(1).padStart(8),
    figure.p99Micros.toFixed(1).padStart(8),
    figure.p99QuietestMicros.toFixed(1).padStart(16),
  ].join(' ');
}

await main();
