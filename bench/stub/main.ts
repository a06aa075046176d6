import { setTimeout as sleep } from 'node:timers/promises';
import { closedLoop, type LoopResult } from './closed-loop.ts';
import { startServedStub } from './served-stub.ts';

/** An engine that costs nothing: what is left is the server. */
const FREE = ['--per-prefill-token-ms', '0', '--per-decode-sequence-ms', '0'].concat([
  '--per-context-token-ms',
  '0',
]);
const WORD = 'far ';
const OUTPUT_TOKENS = 64;

let asked = 0;

/** A completion with a prompt of so many tokens that no other begins as. */
function completion(promptTokens: number, fields: object): Buffer {
  asked += 1;
  const body = Buffer.from(
    JSON.stringify({
      model: 'stub-model',
      prompt: `${asked} `.padEnd(4 * promptTokens, WORD),
      ignore_eos: true,
      ...fields,
    }),
  );
  const head = `POST /v1/completions HTTP/1.1\r\nhost: stub\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

interface Row {
  readonly what: string;
  readonly measured: string;
  readonly wanted: string;
}

async function throughput(seconds: number): Promise<readonly Row[]> {
  const stub = await startServedStub([
    '--count',
    '1',
    '--speed',
    '10',
    '--base-ms',
    '2',
    '--sequences-max',
    '1024',
    ...FREE,
  ]);
  const measure = (fields: object, promptTokens = 200, clients = 128): Promise<LoopResult> =>
    closedLoop(stub, { request: () => completion(promptTokens, fields), clients, seconds });
  try {
    const whole = await measure({ max_tokens: OUTPUT_TOKENS });
    const streamed = await measure({ max_tokens: OUTPUT_TOKENS, stream: true });
    const before = stub.memory().peakBytes;
    const clients = 16;
    const long = await measure({ max_tokens: 1 }, 100_000, clients);
    const transient = (stub.memory().peakBytes - before) / clients;
    const page = Buffer.from('GET /metrics HTTP/1.1\r\nhost: stub\r\n\r\n');
    const scrape = await closedLoop(stub, { request: () => page, clients: 4, seconds });
    return [
      perCore('answers a second and core', whole, '15000'),
      {
        what: 'SSE chunks a second and core',
        measured: `${((1000 * streamed.chunks) / streamed.cpuMs).toFixed(0)} (${streamed.chunksPerSecond.toFixed(0)}/s; ${(streamed.chunks / streamed.requests).toFixed(1)} a request)`,
        wanted: '60000',
      },
      perCore('100,000-token prompts a second and core', long, ''),
      {
        what: 'MB more at the peak for each of 16 such at once',
        measured: (transient / 1e6).toFixed(2),
        wanted: '1',
      },
      {
        what: 'CPU ms a scrape of /metrics',
        measured: (scrape.cpuMs / scrape.requests).toFixed(3),
        wanted: '0.2',
      },
    ];
  } finally {
    await stub.stop();
  }
}

function perCore(
  what: string,
  { requests, cpuMs, requestsPerSecond }: LoopResult,
  wanted: string,
): Row {
  const rate = ((1000 * requests) / cpuMs).toFixed(0);
  const micros = ((1000 * cpuMs) / requests).toFixed(1);
  return {
    what,
    measured: `${rate} (${micros} µs each; ${requestsPerSecond.toFixed(0)}/s)`,
    wanted,
  };
}

/** 1,000 streams with a token each 10 ms: how much longer they take than the engine says. */
async function realTime(seconds: number): Promise<readonly Row[]> {
  const stepMs = 10;
  const tokens = 200;
  const stub = await startServedStub(
    ['--count', '4', '--base-ms', String(stepMs), '--sequences-max', '1024'].concat(FREE),
  );
  try {
    const streams = await closedLoop(stub, {
      request: () => completion(200, { max_tokens: tokens, stream: true }),
      clients: 1000,
      // At least two whole lives of a stream.
      seconds: Math.max(seconds, 6),
    });
    // A request that comes while a step runs waits for its end, and the next one is its first.
    const least = tokens * stepMs;
    const error = (bound: number): string =>
      `${((100 * streams.meanMs) / bound - 100).toFixed(2)} %`;
    return [
      {
        what: '1,000 streams at 10 ms a token: E2E against 200 and 201 steps',
        measured: `${error(least)}, ${error(least + stepMs)} (${streams.cores.toFixed(2)} cores, ${(streams.chunks / streams.requests).toFixed(1)} chunks a stream)`,
        wanted: '2 %',
      },
    ];
  } finally {
    await stub.stop();
  }
}

async function idle(seconds: number): Promise<readonly Row[]> {
  const stub = await startServedStub(['--count', '500']);
  try {
    await sleep(2000);
    const cpu = stub.cpuMs();
    await sleep(seconds * 1000);
    return [
      {
        what: '500 idle endpoints: MB',
        measured: (stub.memory().bytes / 1e6).toFixed(0),
        wanted: '150',
      },
      {
        what: '500 idle endpoints: % of a core',
        measured: ((stub.cpuMs() - cpu) / seconds / 10).toFixed(2),
        wanted: '5',
      },
    ];
  } finally {
    await stub.stop();
  }
}

const CASES = { throughput, 'real-time': realTime, idle } as const;

const seconds = Number(process.argv[2] ?? 4);
const only = process.argv[3]?.split(',');
if (!(seconds > 0) || only?.some((name) => !Object.hasOwn(CASES, name))) {
  process.stderr.write(`npm run bench -- stub [seconds] [${Object.keys(CASES).join(',')}]\n`);
  process.exit(2);
}
process.stdout.write(`${'what'.padEnd(64)}${'bound'.padEnd(10)}measured\n`);
for (const [name, measure] of Object.entries(CASES)) {
  if (only?.includes(name) === false) continue;
  for (const { what, measured, wanted } of await measure(seconds)) {
    process.stdout.write(`${what.padEnd(64)}${wanted.padEnd(10)}${measured}\n`);
  }
}
