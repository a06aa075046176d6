import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mean, quantile, sorted } from '../src/lab/run-summary/statistics.ts';
import { processCpuMs } from './cost/proc.ts';
import { startChild } from './load/child.ts';
import { Connection } from './load/connection.ts';
import { parseOptions } from './support/parse-options.ts';

/**
 * Measures whether the stub keeps its times under load: `npm run bench -- stub-streams`. Runs many
 * streams at once, each followed by another, and compares their durations at the client with the
 * durations of the engine's steps. If the client uses a whole core, the client limits the figures.
 */

const STEP_MS = 10;
const TOKENS = 200;
/**
 * One step more than tokens: a request waits for the end of the current step, and a client that
 * sends its next request at once arrives at the beginning of a step.
 */
const STEPS = TOKENS + 1;
const LIFE_MS = STEPS * STEP_MS;

const PROMPT_TOKENS = 200;
let asked = 0;

/** A completion whose prompt shares no prefix with others. */
function completion(): Buffer {
  asked += 1;
  const body = JSON.stringify({
    model: 'stub-model',
    prompt: `${asked} `.padEnd(4 * PROMPT_TOKENS, 'far '),
    max_tokens: TOKENS,
    ignore_eos: true,
    stream: true,
  });
  return Buffer.from(
    `POST /v1/completions HTTP/1.1\r\nhost: stub\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
}

interface Streams {
  /** Milliseconds that each finished stream took. */
  readonly lives: number[];
  chunks: number;
  /** What the stub did instead of an answer with status 200. */
  failed: string | undefined;
}

/** Starts the streams spread over the duration of one, so that they do not all end at once. */
async function begin(
  connections: readonly Connection[],
  streams: { current: Streams },
): Promise<void> {
  const ask = (connection: Connection): void => {
    const from = performance.now();
    connection.send(completion(), (reply) => {
      const { current } = streams;
      if (reply?.status !== 200) {
        current.failed = reply === undefined ? 'closed the connection' : `answered ${reply.status}`;
        return;
      }
      current.lives.push(performance.now() - from);
      current.chunks += reply.pieces;
      ask(connection);
    });
  };
  const from = performance.now();
  for (const [index, connection] of connections.entries()) {
    const due = from + (index * LIFE_MS) / connections.length;
    await sleep(Math.max(0, due - performance.now()));
    ask(connection);
  }
}

async function measure(count: number, servers: number, seconds: number): Promise<string> {
  const extension = import.meta.filename.endsWith('.ts') ? '.ts' : '.js';
  const child = await startChild({
    name: 'stub',
    command: process.execPath,
    args: [
      join(import.meta.dirname, `../src/main${extension}`),
      ...`stub --json --port 0 --count ${servers} --sequences-max 4096 --batched-tokens-max 1000000 --kv-blocks 1000000`.split(
        ' ',
      ),
      ...`--base-ms ${STEP_MS} --per-prefill-token-ms 0`.split(' '),
      ...'--per-decode-sequence-ms 0 --per-context-token-ms 0'.split(' '),
    ],
    log: (line) => process.stderr.write(`${line}\n`),
  });
  const { endpoints } = child.said as { readonly endpoints: readonly string[] };
  const ports = endpoints.map((address) => Number(address.slice(address.lastIndexOf(':') + 1)));
  const connections = Array.from(
    { length: count },
    (_, index) => new Connection(ports[index % servers] as number),
  );
  const fresh = (): Streams => ({ lives: [], chunks: 0, failed: undefined });
  const streams = { current: fresh() };
  try {
    await begin(connections, streams);
    // The streams that began while code was still being compiled have ended by then.
    await sleep(2 * LIFE_MS);
    streams.current = fresh();
    const before = cpuNow(child.pid);
    await sleep(seconds * 1000);
    const after = cpuNow(child.pid);
    const elapsedMs = after.at - before.at;
    return asLine(streams.current, {
      count,
      servers,
      elapsedMs,
      cores: (after.stubMs - before.stubMs) / elapsedMs,
      ownCores: (after.ownMs - before.ownMs) / elapsedMs,
    });
  } finally {
    for (const connection of connections) connection.close();
    await child.stop();
  }
}

function cpuNow(pid: number): {
  readonly at: number;
  readonly stubMs: number;
  readonly ownMs: number;
} {
  return {
    at: performance.now(),
    stubMs: processCpuMs(pid),
    ownMs: processCpuMs(process.pid),
  };
}

function asLine(
  { lives, chunks, failed }: Streams,
  run: {
    readonly count: number;
    readonly servers: number;
    readonly elapsedMs: number;
    readonly cores: number;
    readonly ownCores: number;
  },
): string {
  if (failed !== undefined) throw new Error(`the stub ${failed}`);
  const late = (life: number): string => `${(100 * (life / LIFE_MS - 1)).toFixed(2)} %`;
  return [
    String(run.count).padStart(7),
    String(run.servers).padStart(8),
    late(mean(lives)).padStart(10),
    late(quantile(sorted(lives), 0.99)).padStart(10),
    ((1000 * chunks) / run.elapsedMs).toFixed(0).padStart(10),
    (chunks / lives.length).toFixed(1).padStart(16),
    run.cores.toFixed(2).padStart(7),
    run.ownCores.toFixed(2).padStart(13),
  ].join(' ');
}

const HELP = `npm run bench -- stub-streams [seconds] [streams,streams,…]

Measures delay and CPU of the stub with 100 and 1,000 streams at once, for 6 s each.
`;
const { positionals } = parseOptions({ allowPositionals: true }, HELP);
const seconds = Number(positionals[0] ?? 6);
const counts = positionals[1]?.split(',').map(Number) ?? [100, 1000];
if (!(seconds > 0) || !counts.every((count) => Number.isInteger(count) && count > 0)) {
  process.stderr.write(HELP);
  process.exit(2);
}
process.stdout.write(
  `${TOKENS} tokens, ${STEP_MS} ms each: mean and p99 of the time in excess of ${LIFE_MS} ms\n` +
    'streams  servers       mean        p99   chunks/s  chunks a stream   cores client’s cores\n',
);
for (const count of counts) process.stdout.write(`${await measure(count, 1, seconds)}\n`);
process.stdout.write(`${await measure(counts.at(-1) ?? 1000, 8, seconds)}\n`);
