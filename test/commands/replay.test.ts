import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { ReplayFigures } from '../../src/lab/replay/summarize-replay.ts';
import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import { stubPoolForTests } from '../stub/stub-pool.ts';
import { PROGRAM } from '../support/programs/program.ts';

/** `pointsman replay` as users run it, against the stub and against faulty servers. */

const folder = mkdtempSync(join(tmpdir(), 'pointsman-replay-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Row {
  readonly timestamp: number;
  readonly input_length: number;
  readonly output_length: number;
  readonly hash_ids: readonly number[];
}

function traceOf(name: string, rows: readonly Row[]): string {
  const path = join(folder, name);
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return path;
}

function rows(count: number, gapMs: number): readonly Row[] {
  return Array.from({ length: count }, (_, at) => ({
    timestamp: at * gapMs,
    input_length: 40,
    output_length: 3,
    hash_ids: [at],
  }));
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(args: readonly string[]): {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
} {
  const child = spawn(process.execPath, [PROGRAM, 'replay', ...args]);
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (said.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (said.stderr += text));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, ...said }));
  });
  return { child, ended };
}

interface Result {
  readonly summary: SimulationSummary;
  readonly replay: ReplayFigures;
}

function resultIn({ stdout, stderr }: Ended): Result {
  expect(stdout, stderr).not.toBe('');
  const [result] = (JSON.parse(stdout) as { readonly results: readonly Result[] }).results;
  if (result === undefined) throw new Error(`no result in ${stdout}`);
  return result;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const TOKEN = `data: ${JSON.stringify({ choices: [{ text: ' a' }] })}\n\n`;
const DONE = 'data: [DONE]\n\n';

describe('against the stub', () => {
  const { url } = stubPoolForTests({ count: 1 });

  it('counts the tokens of the trace, and finds repeated prompts in the cache', async () => {
    // The second prompt continues the first, the third is different.
    const trace = traceOf('turns.jsonl', [
      { timestamp: 0, input_length: 1100, output_length: 5, hash_ids: [1, 2, 3] },
      { timestamp: 10, input_length: 1700, output_length: 7, hash_ids: [1, 2, 4, 5] },
      { timestamp: 20, input_length: 600, output_length: 1, hash_ids: [6, 7] },
    ]);
    const page = join(folder, 'page.html');
    for (const [api, template] of [
      ['completions', 0],
      ['chat', 8],
    ] as const) {
      const { ended } = start([
        `--target=${url('')}`,
        `--trace=${trace}`,
        `--api=${api}`,
        `--template-tokens=${template}`,
        `--report=${page}`,
        '--closed-loop',
        '--json',
      ]);
      const outcome = await ended;
      const { summary, replay } = resultIn(outcome);
      expect(outcome.code, outcome.stderr).toBe(0);
      expect(replay.errors).toEqual([]);
      expect(replay.tokens).toEqual({
        answers: 3,
        promptAsked: 3400,
        promptCounted: 3400,
        outputAsked: 13,
        outputCounted: 13,
      });
      // Two blocks of Mooncake are 64 blocks of the engine, after the template of the chat.
      expect(summary.hitRate).toBeCloseTo(1024 / 3400, 2);
      expect(replay.servers).toEqual([{ name: 'stub-0', requests: 3 }]);
      expect(readFileSync(page, 'utf8').match(/<figure>/g)).toHaveLength(7 + 1);
    }
  });
});

describe('against other servers', () => {
  it('has two thousand answers open at once', async () => {
    const COUNT = 2000;
    const open: (() => void)[] = [];
    const target = await serve((request, response) => {
      request.resume().once('end', () => {
        open.push(() => response.end(TOKEN + DONE));
        // The server answers only when all requests have arrived.
        if (open.length === COUNT) for (const answer of open) answer();
      });
    });
    const trace = traceOf('many.jsonl', rows(COUNT, 0));
    const { ended } = start(['--target', target, '--trace', trace, '--model', 'm', '--json']);
    const { summary, replay } = resultIn(await ended);
    expect([summary.requests, summary.failed]).toEqual([COUNT, 0]);
    expect(replay.underWayMax).toBe(COUNT);
  });

  it('[O485] reports errors by kind, counts all as failed, and ends with 0 where one did not', async () => {
    let asked = 0;
    const target = await serve((request, response) => {
      asked += 1;
      const number = asked;
      request.resume().once('end', () => {
        if (number === 1) response.writeHead(503).end('no room');
        if (number === 2) response.write(TOKEN, () => response.destroy());
        if (number === 3) response.end(TOKEN);
        if (number === 4) response.end('data: {"error":{"message":"gone"}}\n\n');
        if (number === 5) response.end('data: <html>\n\n');
        if (number === 6) request.socket.destroy();
        if (number === 7) response.end(DONE);
        if (number === 8) response.end(TOKEN + TOKEN + DONE);
      });
    });
    // Turns of one conversation arrive in this order.
    const turns = Array.from({ length: 8 }, (_, turn) => {
      const hash_ids = Array.from({ length: turn + 2 }, (_, id) => id);
      return { timestamp: 0, input_length: 512 * hash_ids.length, output_length: 2, hash_ids };
    });
    const trace = traceOf('bad.jsonl', turns);
    const flags = ['--target', target, '--trace', trace, '--model', 'm', '--closed-loop', '--json'];
    const ended = await start(flags).ended;
    const { summary, replay } = resultIn(ended);
    expect(ended.code).toBe(0);
    expect(Object.fromEntries(replay.errors.map(({ kind, count }) => [kind, count]))).toEqual({
      connection: 1,
      'cut off': 2,
      empty: 1,
      'http 503': 1,
      'no such answer': 1,
      'said error': 1,
    });
    expect(replay.errors.find(({ kind }) => kind === 'http 503')?.first).toBe('no room');
    expect([summary.requests, summary.failed]).toEqual([8, 7]);
  });

  it('refuses requests over its limit, and cancels requests that take too long', async () => {
    const target = await serve((request, response) => {
      request.resume().once('end', () => response.write(TOKEN));
    });
    const trace = traceOf('stuck.jsonl', rows(5, 0));
    const flags = ['--target', target, '--trace', trace, '--model', 'm', '--timeout', '1'];
    const { ended } = start([...flags, '--concurrency', '2', '--json']);
    const { summary, replay } = resultIn(await ended);
    // [O485] Not one was answered.
    expect((await ended).code).toBe(1);
    expect([replay.refused, replay.underWayMax]).toEqual([3, 2]);
    expect(replay.errors.map(({ kind, count }) => [kind, count])).toEqual([['time-out', 2]]);
    expect([summary.requests, summary.failed, summary.goodput]).toEqual([5, 5, 0]);
    expect(summary.ttftMeanMs).toBeNull();
  });

  it('runs several targets in turn and compares them', async () => {
    const answer = (text: string): RequestListener => {
      return (request, response) => request.resume().once('end', () => response.end(text));
    };
    const one = await serve(answer(TOKEN + DONE));
    const other = await serve(answer('data: [DONE]\n\n'));
    const trace = traceOf('turns.jsonl', rows(2, 1));
    const targets = [`--target=${one}`, `--target=${other}`, '--name=before', '--name=after'];
    const { ended } = start([...targets, `--trace=${trace}`, '--model=m', '--json']);
    const { stdout } = await ended;
    const { results } = JSON.parse(stdout) as {
      readonly results: readonly (Result & { readonly job: { readonly name: string } })[];
    };
    expect(results.map(({ job, summary }) => [job.name, summary.failed])).toEqual([
      ['before', 0],
      ['after', 2],
    ]);
  });

  it('prints the results so far when it is interrupted', async () => {
    let asked = 0;
    let interrupt = (): void => undefined;
    const target = await serve((request, response) => {
      asked += 1;
      const answer = asked === 1 ? TOKEN + DONE : TOKEN;
      request.resume().once('end', () => {
        if (asked === 1) response.end(answer);
        else response.write(answer, () => interrupt());
      });
    });
    const trace = traceOf('long.jsonl', [...rows(2, 50), ...rows(5, 10).map(inAnHour)]);
    const flags = ['--target', target, '--trace', trace, '--model', 'm'];
    const { child, ended } = start([...flags, '--json']);
    interrupt = () => child.kill('SIGINT');
    const outcome = await ended;
    const { summary, replay } = resultIn(outcome);
    expect(outcome.code).toBe(130);
    expect([replay.stopped, replay.planned, replay.due, replay.unfinished]).toEqual([
      true,
      7,
      2,
      1,
    ]);
    expect([summary.requests, summary.failed]).toEqual([1, 0]);
  });

  it('has in the table all figures that a reader needs, and none that are unknown', async () => {
    const target = await serve((request, response) => {
      request.resume().once('end', () => response.end(TOKEN + DONE));
    });
    const trace = traceOf('plain.jsonl', rows(3, 1));
    const { ended } = start(['--target', target, '--trace', trace, '--model', 'm', '--name', 'us']);
    const { stdout } = await ended;
    // The last columns are preempted, which a client cannot know, and failed.
    expect(stdout).toMatch(/^us .* – +0$/m);
    expect(stdout).toContain('3 of 3 requests were due');
    expect(stdout).toContain('does not say how many tokens it counts');
  });

  it('[O362] says of the requests that it sends, not of the whole trace, how many they are', async () => {
    const target = await serve((request, response) => {
      request.resume().once('end', () => response.end(TOKEN + DONE));
    });
    const trace = traceOf('first.jsonl', rows(30, 100));
    const flags = ['--target', target, '--trace', trace, '--model', 'm', '--requests', '3'];
    const { stderr } = await start(flags).ended;
    expect(stderr).toContain('trace: 3 requests over 200 ms');
  });

  it.each([
    [['--target', 'ftp://x'], /not an http or https address/],
    [['--target', 'http://127.0.0.1:1', '--trace', 'nowhere'], /nowhere does not exist/],
    [['--header', 'secret'], /`name: value`/],
    [['--concurrency', '0'], /1 or more/],
    [['--speed', '-1'], /above 0/],
  ])('refuses %j', async (args, message) => {
    const { code, stderr } = await start([...args]).ended;
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain('    at ');
  });

  it('prints an error if the target does not list its models', async () => {
    const target = await serve((_request, response) => response.writeHead(401).end('who are you'));
    const trace = traceOf('refused.jsonl', rows(1, 0));
    const { code, stderr } = await start(['--target', target, '--trace', trace]).ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /gives no list of its models \(401 who are you\); .* name a model with --model/,
    );
  });
});

function inAnHour(row: Row): Row {
  return { ...row, timestamp: row.timestamp + 3_600_000 };
}
