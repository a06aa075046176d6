import { createPicker } from '../src/index.ts';
import { mean, quantile } from '../src/lab/run-summary/statistics.ts';
import { simulate } from '../src/lab/simulate/simulate.ts';
import type { TraceRequest } from '../src/lab/traces/trace.ts';
import type { Workload } from '../src/lab/traces/workload.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { mixedPool, presetServer } from './scenarios/pools.ts';
import { parseOptions } from './support/parse-options.ts';

/**
 * Measures when it pays to divide a pool by prompt length: `npm run bench -- assignment`. Simulates
 * eight servers with and without a learned division, with the default policy and the reference's.
 * Prints times to first token in milliseconds.
 */
const HELP = `npm run bench -- assignment [options]

Simulates eight servers with and without a division by prompt length, and prints times to first token.

  --seeds <n>      draws of each load (3)
  --requests <n>   requests of each draw (4000)
`;
const { values } = parseOptions(
  {
    options: {
      seeds: { type: 'string', default: '3' },
      requests: { type: 'string', default: '4000' },
    },
  },
  HELP,
);
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
const SHORT_TOKENS = 1000;

interface Traffic {
  readonly name: string;
  readonly perSecond: number;
  /** Share of requests with long prompts, 0 to 1. */
  readonly longShare: number;
  readonly longTokens: number;
}

const TRAFFIC: readonly Traffic[] = [
  { name: 'chat alone', perSecond: 120, longShare: 0, longTokens: 0 },
  { name: 'chat, 3 % of 8,000 tokens', perSecond: 100, longShare: 0.03, longTokens: 8000 },
  { name: 'chat, 3 % of 60,000 tokens', perSecond: 60, longShare: 0.03, longTokens: 60_000 },
  { name: 'chat, 10 % of 30,000 tokens', perSecond: 40, longShare: 0.1, longTokens: 30_000 },
];

function workload(traffic: Traffic, seed: number): Workload {
  const random = seededRandom(seed).fork(traffic.name);
  let atMs = 0;
  let block = 0;
  const requests = Array.from({ length: Number(values.requests) }, (): TraceRequest => {
    atMs += (-Math.log(1 - random.next()) * 1000) / traffic.perSecond;
    const long = random.next() < traffic.longShare;
    const promptTokens = long ? traffic.longTokens : 100 + Math.floor(random.next() * 800);
    const outputTokens = 20 + Math.floor(random.next() * 260);
    const blockIds = Array.from({ length: Math.floor(promptTokens / 64) }, () => block++);
    return { atMs, model: '', promptTokens, outputTokens, blockIds };
  });
  return { blockTokens: 64, requests };
}

const DIVIDED = `- type: assignment-informer
  parameters:
    classes: [{name: short, maxPromptTokens: ${SHORT_TOKENS}}, {name: long}]
- type: assignment-filter
`;

function config(divided: boolean, scorers: readonly (readonly [string, number])[]): string {
  const filter = divided ? '  - {pluginRef: assignment-filter}\n' : '';
  const weighted = scorers.map(([name, weight]) => `  - {pluginRef: ${name}, weight: ${weight}}\n`);
  return `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
${divided ? DIVIDED : ''}${scorers.map(([name]) => `- type: ${name}\n`).join('')}schedulingProfiles:
- name: default
  plugins:
${filter}${weighted.join('')}`;
}

const POLICIES = {
  default: [['predicted-cost-scorer', 1]],
  reference: [
    ['queue-scorer', 2],
    ['kv-cache-utilization-scorer', 2],
    ['prefix-cache-scorer', 3],
  ],
} as const;

interface Figures {
  readonly short: number;
  readonly shortP99: number;
  readonly long: number;
}

function figures(traffic: Traffic, text: string): Figures {
  const pool = mixedPool([[8, presetServer('llama-3.1-8b-h100')]]);
  const runs = seeds.flatMap((seed) => [
    ...simulate({ workload: workload(traffic, seed), pool, config: text, createPicker, seed })
      .requests,
  ]);
  const times = (long: boolean): readonly number[] =>
    runs
      .filter(({ request }) => request.promptTokens > SHORT_TOKENS === long)
      .map(({ ttftMs }) => ttftMs)
      .sort((a, b) => a - b);
  const short = times(false);
  return {
    short: mean(short),
    shortP99: quantile(short, 0.99),
    long: mean(times(true)),
  };
}

const cell = (value: string, at: number): string =>
  at < 2 ? value.padEnd(30) : value.padStart(12);
const line = (...cells: readonly string[]): string => `${cells.map(cell).join('')}\n`;
process.stdout.write(line('traffic', 'policy', 'short', 'short p99', 'long'));
for (const traffic of TRAFFIC) {
  for (const [policy, scorers] of Object.entries(POLICIES)) {
    for (const divided of [false, true]) {
      const { short, shortP99, long } = figures(traffic, config(divided, scorers));
      const times = [short, shortP99, long].map((ms) => (Number.isNaN(ms) ? '-' : ms.toFixed(0)));
      process.stdout.write(line(traffic.name, `${policy}${divided ? ', divided' : ''}`, ...times));
    }
  }
}
