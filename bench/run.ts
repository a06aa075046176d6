import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** `npm run bench -- <name> [options]` starts a benchmark; each is a separate program. */
const BENCHES: ReadonlyMap<string, { readonly file: string; readonly about: string }> = new Map([
  ['cost', { file: 'cost/main', about: 'CPU per request through a real Envoy, compared' }],
  [
    'direct',
    { file: 'direct/main', about: 'CPU per request without Envoy, against another checkout' },
  ],
  [
    'policies',
    {
      file: 'policies/main',
      about: 'the default policy and every other, tuned and untuned, in simulation',
    },
  ],
  [
    'situations',
    {
      file: 'situations/main',
      about: 'the default policy and others, untuned, in some forty situations, in simulation',
    },
  ],
  ['overload', { file: 'overload/main', about: 'what must hold under overload, in simulation' }],
  ['explain', { file: 'overhead/explain', about: 'the cost of keeping decisions for `explain`' }],
  ['live-page', { file: 'overhead/live-page', about: 'the cost of the live page with one viewer' }],
  [
    'page',
    {
      file: 'page/main',
      about:
        'the live page in Chromium, of a picker with 5,000 decisions a second and 1,000 endpoints',
    },
  ],
  [
    'tracing',
    { file: 'overhead/tracing', about: 'the cost of traces, with a tenth of the requests written' },
  ],
  [
    'sharing',
    { file: 'overhead/sharing', about: 'the cost of sharing with another picker over NATS' },
  ],
  [
    'toggle',
    {
      file: 'toggle/main',
      about:
        'what page, traces and sharing cost a request, with and without in turn in one process',
    },
  ],
  ['capture', { file: 'overhead/capture', about: 'the cost of --capture' }],
  [
    'simulator',
    {
      file: 'simulator/main',
      about: 'what the stub and llm-d’s own simulator answer to the same requests, compared',
    },
  ],
  ['pick', { file: 'pick/main', about: 'one decision over 100 endpoints with five scorers' }],
  [
    'stub',
    { file: 'stub', about: 'the cost of the stub: requests, chunks, scrapes, idle endpoints' },
  ],
  [
    'stub-streams',
    { file: 'stub-streams', about: 'delay and CPU of the stub with a thousand streams at once' },
  ],
  ['stub-hour', { file: 'stub-hour', about: 'one hour of 100 engines in virtual time' }],
  [
    'disaggregation',
    {
      file: 'disaggregation',
      about: 'prefill on separate servers or not, at several loads, in simulation',
    },
  ],
  [
    'shadows',
    {
      file: 'shadows/main',
      about:
        'latency through a real Envoy with eight shadows and with none; --soak: memory over a million requests',
    },
  ],
  ['assignment', { file: 'assignment', about: 'a pool divided by prompt length, in simulation' }],
  ['remote', { file: 'remote', about: 'time that a scheduler in another process adds to a pick' }],
  [
    'replay',
    {
      file: 'replay/main',
      about: 'a live replay through Envoy and a simulation of the same requests; ten minutes',
    },
  ],
  [
    'waiting',
    {
      file: 'replay/waiting',
      about:
        'requests that wait for their endpoint and requests that do not, in turn through Envoy, and simulated',
    },
  ],
  [
    'kubernetes',
    {
      file: 'kubernetes/main',
      about: 'watching 1,000 pods of a real kube-apiserver: sync, removal, memory, CPU',
    },
  ],
  [
    'hostile-cluster',
    {
      file: 'survive/cluster/main',
      about: 'CPU, memory and latency of a picker whose Kubernetes API server attacks it',
    },
  ],
  [
    'survive',
    {
      file: 'survive/main',
      about: 'memory, and latency of other clients, under slow uploads, floods and idle streams',
    },
  ],
  [
    'agreement',
    {
      file: 'agreement/main',
      about:
        'decisions beside the reference picker and two others, behind a real Envoy: equal or a tie',
    },
  ],
  [
    'sizing',
    {
      file: 'sizing',
      about: 'pickers that see each other late, in simulation: the table of docs/sizing.md',
    },
  ],
  [
    'open-streams',
    { file: 'open-streams', about: 'memory of the picker with 10,000 requests open at once' },
  ],
  [
    'soak',
    {
      file: 'soak',
      about: 'memory of the picker under mixed load for an hour, through a real Envoy',
    },
  ],
  [
    'scrape',
    { file: 'scrape', about: 'CPU of scraping 8, 64 and 256 endpoints, without requests' },
  ],
]);

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];

function usage(): string {
  const width = Math.max(...[...BENCHES.keys()].map((name) => name.length)) + 2;
  const lines = [...BENCHES].map(([name, { about }]) => `  ${name.padEnd(width)}${about}`);
  return `npm run bench -- <name> [options]\n\n${lines.join('\n')}\n\n\`npm run bench -- <name> --help\` prints the options of a benchmark.\n`;
}

function run(name: string, args: readonly string[]): Promise<number> {
  const bench = BENCHES.get(name);
  // The sources, or their build if this file is compiled.
  const extension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
  const file = bench && join(import.meta.dirname, `${bench.file}${extension}`);
  if (file === undefined || !existsSync(file)) {
    process.stderr.write(`there is no benchmark ${JSON.stringify(name)}\n\n${usage()}`);
    return Promise.resolve(2);
  }
  const child = spawn(process.execPath, [file, ...args], { stdio: 'inherit' });
  // The child gets the signal too and ends what it started; this process waits for it.
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
