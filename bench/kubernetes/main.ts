import { loadavg } from 'node:os';
import { Command } from 'commander';
import { quantile } from '../../src/lab/run-summary/statistics.ts';
import { buildKubernetes } from '../support/kubernetes-binaries.ts';
import { type Delays, measureFollowing } from './measure-following.ts';

const log = (line: string): void => void process.stderr.write(`${line}\n`);
const whole = (text: string): number => Number.parseInt(text, 10);

const command = new Command('kubernetes')
  .description('follow a pool on a real kube-apiserver: measure first sync, removals, memory, CPU')
  .option('--pods <n>', 'number of pods in the pool', whole, 1000)
  .option('--events <n>', 'number of events of each kind', whole, 1000)
  .option('--writers <n>', 'number of pods that change at once', whole, 4)
  .option('--idle-seconds <n>', 'seconds without events, to measure idle CPU', whole, 20)
  .parse();
const options = command.opts<{
  pods: number;
  events: number;
  writers: number;
  idleSeconds: number;
}>();

const binaries = await buildKubernetes(log);
if ('unavailable' in binaries) {
  log(binaries.unavailable);
  process.exit(1);
}
const [loadBefore = 0] = loadavg();
const cost = await measureFollowing(binaries, { ...options, log });

console.log(`first sync of ${options.pods} pods        ${cost.syncMs.toFixed(0)} ms`);
console.log(
  `memory, library loaded → in use  ${cost.rssMiBBefore.toFixed(0)} → ${cost.rssMiBAfter.toFixed(0)} MiB (heap ${cost.heapMiBAfter.toFixed(0)} MiB)`,
);
console.log(
  `CPU idle, busy                   ${cost.coresIdle.toFixed(4)}, ${cost.coresBusy.toFixed(3)} cores, at ${cost.writesPerSecond.toFixed(0)} writes/s`,
);
const [loadAfter = 0] = loadavg();
console.log(
  `load average of the machine      ${loadBefore.toFixed(1)} before, ${loadAfter.toFixed(1)} after`,
);
console.log(
  '\nevent → cannot be picked, ms     p50     p99     max   | after the answer: p50, p99, max',
);
for (const [kind, delays] of cost.fromSent) {
  const after = cost.fromAnswered.get(kind) ?? new Float64Array();
  console.log(`${kind.padEnd(27)}${cells(delays)}   | ${cells(after)}`);
}

function cells(delays: Delays): string {
  return [0.5, 0.99, 1].map((q) => quantile(delays, q).toFixed(1).padStart(8)).join('');
}
