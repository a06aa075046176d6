import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/programs/program.ts';
import { type ProgramRun, RunsInTurn } from '../support/programs/runs-in-turn.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'pointsman-trace-'));
afterAll(() => rmSync(folder, { recursive: true }));
/** A minute and a half has continued conversations, and each command ends within a second. */
const slice = join(folder, 'slice.jsonl');
const recorded = join(root, 'bench/traces/mooncake-conversation-5min.jsonl');
const REQUESTS = 300;
writeFileSync(slice, readFileSync(recorded, 'utf8').split('\n').slice(0, REQUESTS).join('\n'));
const pool = join(folder, 'pool.yaml');
writeFileSync(pool, 'servers:\n  - { count: 3, preset: llama-3.1-8b-h100 }\n');

const runs = new RunsInTurn();
afterAll(() => runs.stop());

const pointsman = (...args: readonly string[]): Promise<ProgramRun> => runs.run(args);
const printed = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
  const { code, stdout, stderr } = await pointsman(...args, '--json');
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return JSON.parse(stdout) as Record<string, unknown>;
};
const convert = (from: string, to: string, ...more: readonly string[]) =>
  printed('trace', 'convert', from, join(folder, to), ...more);
const simulated = async (trace: string, ...more: readonly string[]): Promise<unknown> => {
  const args = ['simulate', '--trace', trace, '--pool', pool, '--config', 'default'];
  return (await printed(...args, ...more))['reports'];
};

describe('[G307] --columns', () => {
  const calls = join(folder, 'calls.csv');
  writeFileSync(calls, 'id;began;in;out\na;1760000000;100;20\nb;1760000002.5;300;40\n');
  const columns = ['--columns', 'time_s=began,prompt=in,output=out'];

  it('is for describe, convert and simulate alike, whose workers read the trace themselves', async () => {
    expect(await convert(calls, 'calls.jsonl', ...columns)).toMatchObject({ requests: 2 });
    expect(await printed('trace', 'describe', calls, ...columns)).toMatchObject({ requests: 2 });
    const own = await simulated(join(folder, 'calls.jsonl'));
    expect(await simulated(calls, ...columns)).toEqual(own);
  });

  it('[G308] is proposed with the columns of a file of no known format, and stands without --from', async () => {
    const { code, stderr } = await pointsman('trace', 'describe', calls);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('which are id, began, in, out, as by --columns time_s=NAME'),
    ]);
    const both = await pointsman('trace', 'describe', calls, ...columns, '--from', 'azure');
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('give one of them')]);
    const ofFolder = await pointsman('trace', 'describe', folder, ...columns);
    expect(ofFolder.stderr).toContain('--columns is for a file');
  });
});

describe('pointsman trace convert', () => {
  it('writes a trace whose simulation has exactly the same figures, in every compression', async () => {
    const before = await simulated(slice);
    expect(await convert(slice, 'own.jsonl.zst')).toMatchObject({
      repaired: 0,
      notes: [],
      lost: [],
    });
    expect(
      await convert(join(folder, 'own.jsonl.zst'), 'again.jsonl.gz', '--to', 'mooncake'),
    ).toMatchObject({ lost: [] });
    expect(await simulated(join(folder, 'own.jsonl.zst'))).toEqual(before);
    expect(await simulated(join(folder, 'again.jsonl.gz'))).toEqual(before);
    expect(statSync(join(folder, 'own.jsonl.zst')).size).toBeLessThan(statSync(slice).size / 3);
  });

  it('lists the fields that the other format cannot hold', async () => {
    expect(await convert(slice, 'azure.csv', '--to', 'azure')).toMatchObject({
      lost: ['shared prefixes'],
    });
    expect(readFileSync(join(folder, 'azure.csv'), 'utf8')).toMatch(
      /^TIMESTAMP,ContextTokens,GeneratedTokens\n1970-01-01 00:00:00.0000000,6758,500\n/,
    );
  });

  it('refuses a path that cannot be written with one sentence, and leaves no files', async () => {
    const cases: readonly [string, RegExp][] = [
      [
        join(folder, 'nowhere', 'out.csv'),
        /which is not a folder; make it first, or name another file/,
      ],
      [folder, /is a folder; name a file, such as /],
    ];
    for (const [to, sentence] of cases) {
      const args = ['trace', 'convert', slice, to, '--to', 'azure'];
      const { code, stderr } = await pointsman(...args);
      expect(code).toBe(2);
      expect(stderr).toMatch(sentence);
      expect(stderr).not.toContain('    at ');
    }
    expect(existsSync(`${folder}.partial`)).toBe(false);
  });

  it('[V280] gives a pipe the trace and nothing else', () => {
    const command = `"$0" "$1" trace convert "$2" /dev/stdout | cat`;
    const args = ['-c', command, process.execPath, PROGRAM, slice];
    const { stdout, stderr } = spawnSync('sh', args, { encoding: 'utf8' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => typeof JSON.parse(line))).toEqual(
      Array(REQUESTS + 1).fill('object'),
    );
    expect(stderr).toMatch(new RegExp(`^wrote /dev/stdout\n${REQUESTS} requests over .*\n$`));
  });

  it('refuses to overwrite its input, by any name, and does not change it', async () => {
    const text = readFileSync(slice, 'utf8');
    const own = join(folder, 'held');
    mkdirSync(own);
    const file = join(own, 'held.jsonl');
    const link = join(folder, 'link.jsonl');
    const partial = join(own, 'out.jsonl.partial');
    const other = join(folder, 'other.jsonl');
    for (const path of [file, partial, other]) writeFileSync(path, text);
    symlinkSync(file, link);
    const cases: readonly (readonly string[])[] = [
      [file, file],
      [file, join(own, '..', 'held', 'held.jsonl')],
      [file, link],
      [link, file],
      // The command first writes to a file with this name.
      [partial, join(own, 'out.jsonl')],
      [other, file, '--merge', file],
    ];
    for (const args of cases) {
      const { code, stderr } = await pointsman('trace', 'convert', ...args);
      expect([args, code, stderr]).toEqual([
        args,
        2,
        expect.stringMatching(
          /^command line:\n {2}.*: is the input .*, which writing would destroy/,
        ),
      ]);
    }
    for (const path of [file, partial, other]) expect(readFileSync(path, 'utf8')).toBe(text);
    const taken = ['trace', 'convert', own, file];
    expect(await pointsman(...taken)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is a file of the input folder') as string,
    });
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('refuses a report over one of its inputs, or in a missing folder, before anything runs', async () => {
    const kept = [slice, pool].map((path) => readFileSync(path, 'utf8'));
    const nowhere = join(folder, 'nowhere', 'report.html');
    const simulate = ['simulate', '--trace', slice, '--pool', pool, '--config', 'default'];
    const replay = ['replay', '--trace', slice, '--target', 'http://127.0.0.1:1'];
    const cases = [
      [...simulate, '--report', slice],
      [...simulate, '--report', pool],
      [...simulate, '--report', nowhere],
      [...simulate, '--report', folder],
      [...replay, '--report', slice],
      [...replay, '--report', nowhere],
    ];
    const why = /would destroy|which is not a folder; make it first|is a folder; name a file/;
    for (const args of cases) {
      const { code, stdout, stderr } = await pointsman(...args);
      expect([args, code, stdout, stderr]).toEqual([args, 2, '', expect.stringMatching(why)]);
    }
    expect([slice, pool].map((path) => readFileSync(path, 'utf8'))).toEqual(kept);
  });

  it('[O381] shapes a trace as simulate does, by the same options', async () => {
    const shape = [
      '--merge',
      slice,
      '--shift',
      '-1000',
      '--loop',
      '2',
      '--thin',
      '0.3',
      '--requests',
      '20',
    ];
    await convert(slice, 'shaped.jsonl', ...shape);
    const shaped = await simulated(join(folder, 'shaped.jsonl'));
    expect(await simulated(slice, ...shape)).toEqual(shaped);
    expect(shaped).not.toEqual(await simulated(slice));
  });

  it('makes conversations wait for their answers in simulate --closed-loop', async () => {
    const args = [
      'simulate',
      '--trace',
      slice,
      '--pool',
      pool,
      '--config',
      'default',
      '--closed-loop',
      '--speed',
      '20',
    ];
    const { trace, reports } = await printed(...args);
    expect(trace).toMatchObject({
      notes: [
        expect.stringMatching(/^[1-9]\d+ of 300 requests are turns that wait for an answer$/),
      ],
    });
    expect(reports).not.toEqual(await simulated(slice, '--speed', '20'));
  });

  it('takes the format from --from if the first line is ambiguous; so do simulate and replay', async () => {
    const bad = join(folder, 'headless.jsonl');
    writeFileSync(bad, `what is this\n${readFileSync(slice, 'utf8')}`);
    const commands = [
      ['trace', 'convert', bad, join(folder, 'out.jsonl')],
      ['simulate', '--trace', bad, '--pool', pool, '--config', 'round-robin'],
      // No server listens there, so it ends with 1: only the trace matters.
      [
        'replay',
        '--trace',
        bad,
        '--target',
        'http://127.0.0.1:9',
        '--model',
        'm',
        '--speed',
        '1e6',
      ],
    ];
    for (const command of commands) {
      const args = [...command, '--lenient'];
      const ambiguous = await pointsman(...args);
      expect([ambiguous.code, ambiguous.stderr]).toEqual([
        2,
        expect.stringContaining('neither JSON'),
      ]);
      const result = await pointsman(...args, '--from', 'mooncake');
      expect([command[0], result.code]).toEqual([command[0], command[0] === 'replay' ? 1 : 0]);
      expect(result.stdout + result.stderr).toContain('lines left out: 1; the first, line ');
    }
    const unknown = await pointsman(...(commands[1] ?? []), '--from', 'x');
    expect(unknown.stderr).toContain('Allowed choices are pointsman, dynamo, otel');
  });

  it('[O321][O323] refuses a damaged trace in one sentence with the line, or counts lines left out and says what the rest is; so does simulate', async () => {
    const bad = join(folder, 'bad.jsonl');
    const lines = readFileSync(slice, 'utf8').split('\n');
    writeFileSync(bad, [...lines.slice(0, 20), '{"timestamp": 12', ...lines.slice(20)].join('\n'));
    const commands = [
      ['trace', 'convert', bad, join(folder, 'out.jsonl')],
      ['simulate', '--trace', bad, '--pool', pool, '--config', 'round-robin'],
    ];
    for (const command of commands) {
      const strict = await pointsman(...command);
      expect([strict.code, strict.stderr]).toEqual([
        2,
        `${bad}:21: not JSON: "{\\"timestamp\\": 12"; correct it, or use --lenient to skip bad lines and sort the others\n`,
      ]);
      const lenient = await pointsman(...command, '--lenient');
      expect(lenient.code).toBe(0);
      const told = lenient.stdout + lenient.stderr;
      expect(told).toContain('lines left out: 1; the first, line 21: not JSON');
      expect(told).toContain(`${REQUESTS} requests over 102 s (2.94/s), `);
      expect(told).toContain('prompts of 14,233 tokens and answers of 377 on average');
    }
  });
});
