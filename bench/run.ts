import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** `npm run bench -- <name> [options]`: each bench is a program of its own. */
const BENCHES: ReadonlyMap<string, { readonly file: string; readonly about: string }> = new Map([
  ['cost', { file: 'cost/main', about: 'CPU per request through a real Envoy, beside others’' }],
  [
    'policies',
    {
      file: 'policies/main',
      about: 'the default against every rival, tuned and not, in simulation',
    },
  ],
  [
    'explain',
    { file: 'overhead/explain', about: 'what remembering decisions costs, with and without' },
  ],
  ['capture', { file: 'overhead/capture', about: 'what capturing costs, with and without' }],
  ['pick', { file: 'pick', about: 'one decision over 100 endpoints with five scorers' }],
  [
    'stub',
    { file: 'stub', about: 'what the stub costs: requests, chunks, scrapes, idle endpoints' },
  ],
  [
    'stub-streams',
    { file: 'stub-streams', about: 'how late a thousand streams of the stub come, and its cores' },
  ],
  ['stub-hour', { file: 'stub-hour', about: 'an hour of a hundred engines in virtual time' }],
  [
    'disaggregation',
    {
      file: 'disaggregation',
      about: 'prompts computed elsewhere, over the load range, in simulation',
    },
  ],
  [
    'shadows',
    {
      file: 'shadows/main',
      about:
        'latency through a real Envoy with eight shadows and none; --soak: memory over a million',
    },
  ],
  ['assignment', { file: 'assignment', about: 'a pool divided by prompt length, in simulation' }],
  ['remote', { file: 'remote', about: 'what a scheduler in another process adds to a pick' }],
  [
    'replay',
    {
      file: 'replay/main',
      about: 'a live replay through Envoy against a simulation of the same slice; ten minutes',
    },
  ],
  [
    'kubernetes',
    {
      file: 'kubernetes/main',
      about: 'following 1,000 pods on a real kube-apiserver: sync, removal, memory, CPU',
    },
  ],
  ['scrape', { file: 'scrape', about: 'scraping 8, 64 and 256 endpoints, without requests' }],
]);

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];

function usage(): string {
  const lines = [...BENCHES].map(([name, { about }]) => `  ${name.padEnd(14)}${about}`);
  return `npm run bench -- <name> [options]\n\n${lines.join('\n')}\n\n--help after a name tells its options.\n`;
}

function run(name: string, args: readonly string[]): Promise<number> {
  const bench = BENCHES.get(name);
  // Sources or their build, whichever this file is of.
  const extension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
  const file = bench && join(import.meta.dirname, `${bench.file}${extension}`);
  if (file === undefined || !existsSync(file)) {
    process.stderr.write(`there is no bench ${JSON.stringify(name)}\n\n${usage()}`);
    return Promise.resolve(2);
  }
  const child = spawn(process.execPath, [file, ...args], { stdio: 'inherit' });
  // A terminal tells both of us; the child ends what it started, and we wait for it.
  for (const signal of SIGNALS) process.on(signal, () => void child.kill(signal));
  return new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

const [name, ...args] = process.argv.slice(2);
if (name === undefined || name === '--help') {
  process.stdout.write(usage());
  process.exitCode = name === undefined ? 2 : 0;
} else process.exitCode = await run(name, args);
