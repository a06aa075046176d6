import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import { Pool } from 'undici';
import { processCpuMs } from './cost/proc.ts';
import { parseOptions } from './support/parse-options.ts';

/**
 * Measures the CPU of the stub's process (user and kernel, all threads, from the operating system)
 * for each kind of work: `npm run bench -- stub`. The rate of one core is one second divided by
 * that.
 */

/** Requests in flight: enough to keep a core busy. */
const CONNECTIONS = 64;
const WARM_UP_S = 2;
const MEASURE_S = 3;

/** Long prompts sent at once, to measure the memory that each needs while the stub reads it. */
const LONG_AT_ONCE = 100;

interface Child {
  readonly pid: number;
  readonly addresses: readonly string[];
  stop(): Promise<void>;
}

async function startStub(args: readonly string[]): Promise<Child> {
  const main = join(import.meta.dirname, '../src/main.ts');
  const child = spawn(process.execPath, [main, 'stub', '--json', '--port', '0', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { endpoints } = JSON.parse(line.toString('utf8')) as { endpoints: string[] };
  return {
    pid: child.pid ?? 0,
    addresses: endpoints,
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/**
 * CPU milliseconds of the stub for each unit of work, with `CONNECTIONS` requests in flight. Each
 * answer has `units` units.
 */
async function costOf(
  child: Child,
  request: Pick<autocannon.Options, 'method' | 'body'> & { readonly path: string },
  units = 1,
): Promise<number> {
  const { path, ...rest } = request;
  const url = `http://${child.addresses[0] ?? ''}${path}`;
  const headers = { 'content-type': 'application/json' };
  const load = (seconds: number): Promise<autocannon.Result> =>
    autocannon({ url, headers, connections: CONNECTIONS, duration: seconds, ...rest });
  await load(WARM_UP_S);
  const before = processCpuMs(child.pid);
  const { '2xx': answers, non2xx, errors } = await load(MEASURE_S);
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} requests to ${url} failed`);
  return (processCpuMs(child.pid) - before) / (answers * units);
}

function completion(body: object): { method: 'POST'; path: string; body: string } {
  return { method: 'POST', path: '/v1/completions', body: JSON.stringify(body) };
}

function post(pool: Pool, body: object): Promise<{ readonly text: string }> {
  const request = { ...completion(body), headers: { 'content-type': 'application/json' } };
  return pool.request(request).then(async (answer) => ({ text: await answer.body.text() }));
}

function memoryKb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]);
}

/** Flags of an engine so fast that requests do not wait for it. */
const FAST = [
  '--count',
  '1',
  '--base-ms',
  '0.2',
  '--per-prefill-token-ms',
  '0',
  '--per-decode-sequence-ms',
  '0',
  '--per-context-token-ms',
  '0',
];

const HELP = `npm run bench -- stub

Measures the CPU of the stub for requests, chunks, scrapes and idle endpoints. It has no options.
`;
parseOptions({}, HELP);
const rows: (readonly [string, string, string])[] = [];
const prompt = (tokens: number): string => 'word'.repeat(tokens);

const fast = await startStub(FAST);
try {
  for (const tokens of [200, 4000, 100_000]) {
    const body = { model: 'stub-model', prompt: prompt(tokens), max_tokens: 1, ignore_eos: true };
    const cpuMs = await costOf(fast, completion(body));
    rows.push([
      `request of ${tokens.toLocaleString('en')} tokens, not streamed`,
      `${cpuMs.toFixed(3)} ms`,
      `${Math.round(1000 / cpuMs).toLocaleString('en')} requests/s`,
    ]);
  }
  const streamed = {
    model: 'stub-model',
    prompt: prompt(200),
    max_tokens: 200,
    ignore_eos: true,
    stream: true,
  };
  const pool = new Pool(`http://${fast.addresses[0] ?? ''}`);
  const { text } = await post(pool, streamed);
  await pool.close();
  const cpuMs = await costOf(fast, completion(streamed), text.split('\n\n').length - 1);
  rows.push([
    'SSE chunk',
    `${(1000 * cpuMs).toFixed(1)} µs`,
    `${Math.round(1000 / cpuMs).toLocaleString('en')} chunks/s`,
  ]);
  const scrapeMs = await costOf(fast, { method: 'GET', path: '/metrics' });
  rows.push([
    'scrape of /metrics, HTTP included',
    `${scrapeMs.toFixed(3)} ms`,
    `${Math.round(1000 / scrapeMs).toLocaleString('en')} scrapes/s`,
  ]);
} finally {
  await fast.stop();
}

const long = await startStub(FAST);
try {
  const pool = new Pool(`http://${long.addresses[0] ?? ''}`, { connections: LONG_AT_ONCE });
  const ask = (tokens: number): Promise<unknown> =>
    post(pool, { model: 'stub-model', prompt: prompt(tokens), max_tokens: 1, ignore_eos: true });
  await Promise.all(Array.from({ length: LONG_AT_ONCE }, () => ask(1000)));
  const before = memoryKb(long.pid, 'VmHWM');
  await Promise.all(Array.from({ length: LONG_AT_ONCE }, () => ask(100_000)));
  const kb = (memoryKb(long.pid, 'VmHWM') - before) / LONG_AT_ONCE;
  await pool.close();
  rows.push([
    `${LONG_AT_ONCE} requests of 100,000 tokens at once, each`,
    `${(kb / 1024).toFixed(2)} MB`,
    'at the peak',
  ]);
} finally {
  await long.stop();
}

const many = await startStub(['--count', '500']);
try {
  await sleep(2000);
  const before = processCpuMs(many.pid);
  await sleep(1000 * MEASURE_S);
  const share = (processCpuMs(many.pid) - before) / (1000 * MEASURE_S);
  const residentKb = memoryKb(many.pid, 'VmRSS');
  rows.push([
    '500 endpoints idle',
    `${(100 * share).toFixed(1)} % of a core`,
    `${Math.round(residentKb / 1024)} MB`,
  ]);
} finally {
  await many.stop();
}

const widths = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
process.stdout.write(
  `${rows.map(([what, cost, rate]) => `${what.padEnd(widths[0] ?? 0)}  ${cost.padStart(widths[1] ?? 0)}  ${rate}`).join('\n')}\n`,
);
