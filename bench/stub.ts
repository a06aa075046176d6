import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { processCpuMs } from './cost/cpu.ts';

/**
 * What the stub costs: `npm run bench -- stub`. CPU of its process (user and kernel, all threads, from the operating
 * system) for each kind of work; what one core does is a second over that.
 */

/** In flight; enough to keep a core busy. */
const CONNECTIONS = 64;
const WARM_UP_MS = 1500;
const MEASURE_MS = 3000;

/** Long prompts sent at once, for the memory that each needs while it is read. */
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

/** Keeps `CONNECTIONS` calls going and returns CPU milliseconds of the stub for each unit of work. */
async function costOf(
  child: Child,
  call: (pool: Pool) => Promise<number>,
): Promise<{ readonly cpuMs: number; readonly units: number }> {
  const pool = new Pool(`http://${child.addresses[0] ?? ''}`, { connections: CONNECTIONS });
  let going = true;
  let units = 0;
  const loop = async (): Promise<void> => {
    while (going) {
      const done = await call(pool);
      units += done;
    }
  };
  const loops = Array.from({ length: CONNECTIONS }, loop);
  await sleep(WARM_UP_MS);
  const before = { units, cpuMs: processCpuMs(child.pid) };
  await sleep(MEASURE_MS);
  const spent = processCpuMs(child.pid) - before.cpuMs;
  const done = units - before.units;
  going = false;
  await Promise.all(loops);
  await pool.close();
  return { cpuMs: spent / done, units: done };
}

function post(pool: Pool, body: object): Promise<{ readonly text: string }> {
  const request = {
    method: 'POST' as const,
    path: '/v1/completions',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  return pool.request(request).then(async (answer) => ({ text: await answer.body.text() }));
}

function memoryKb(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]);
}

/** So fast that the engine is never what a request waits for. */
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

const rows: (readonly [string, string, string])[] = [];
const prompt = (tokens: number): string => 'word'.repeat(tokens);

const fast = await startStub(FAST);
try {
  for (const tokens of [200, 4000, 100_000]) {
    const body = { model: 'stub-model', prompt: prompt(tokens), max_tokens: 1, ignore_eos: true };
    const { cpuMs } = await costOf(fast, async (pool) => {
      await post(pool, body);
      return 1;
    });
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
  const { cpuMs } = await costOf(fast, async (pool) => {
    const { text } = await post(pool, streamed);
    return text.split('\n\n').length - 1;
  });
  rows.push([
    'SSE chunk',
    `${(1000 * cpuMs).toFixed(1)} µs`,
    `${Math.round(1000 / cpuMs).toLocaleString('en')} chunks/s`,
  ]);
  const scrape = await costOf(fast, async (pool) => {
    const answer = await pool.request({ method: 'GET', path: '/metrics' });
    await answer.body.dump();
    return 1;
  });
  rows.push([
    'scrape of /metrics, HTTP included',
    `${scrape.cpuMs.toFixed(3)} ms`,
    `${Math.round(1000 / scrape.cpuMs).toLocaleString('en')} scrapes/s`,
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
  await sleep(MEASURE_MS);
  const share = (processCpuMs(many.pid) - before) / MEASURE_MS;
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
