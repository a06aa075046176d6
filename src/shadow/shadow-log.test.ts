import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Redecision } from '../redecide/redecision.ts';
import { decisionLine, ShadowLog } from './shadow-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pointsman-shadow-log-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const logIn = (path: string, bytesMax: number, failures: string[] = []): ShadowLog =>
  new ShadowLog({ path, bytesMax, onFailed: (reason) => void failures.push(reason) });

it('keeps the youngest lines, whole and within its bound, in rotated files', async () => {
  const path = join(folder, 'made', 'shadows.jsonl');
  const log = logIn(path, 4000);
  for (let n = 0; n < 1000; n++) log.write(`{"n":${n}}\n`);
  await log.close();
  const names = readdirSync(join(folder, 'made')).toSorted();
  expect(names).toEqual(['shadows.jsonl', ...[1, 2, 3].map((age) => `shadows.jsonl.${age}`)]);
  const files = names.toReversed().map((name) => join(folder, 'made', name));
  expect(files.reduce((sum, file) => sum + statSync(file).size, 0)).toBeLessThanOrEqual(4000);
  // The oldest first, and `shadows.jsonl` itself last.
  const kept = files.flatMap((file) => readFileSync(file, 'utf8').trimEnd().split('\n'));
  const numbers = kept.map((line) => (JSON.parse(line) as { n: number }).n);
  expect(numbers.at(-1)).toBe(999);
  expect(numbers).toEqual(numbers.map((_, at) => 1000 - numbers.length + at));
});

it('continues an existing file', async () => {
  const path = join(folder, 'log');
  writeFileSync(path, '{"n":1}\n');
  const log = logIn(path, 1e6);
  log.write('{"n":2}\n');
  await log.close();
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n');
});

it('refuses a file that it cannot open', () => {
  expect(() => logIn(folder, 1e6)).toThrow(/EISDIR/);
});

it('[V282] refuses a pipe and a device, and leaves them as they are', () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', ['-m', '666', pipe]);
  const before = statSync('/dev/null').mode;
  for (const path of [pipe, '/dev/null']) {
    expect(() => logIn(path, 1e6)).toThrow(
      `${path} is a pipe or a device, which cannot be rotated`,
    );
  }
  expect([statSync(pipe).isFIFO(), statSync('/dev/null').mode]).toEqual([true, before]);
});

it('[V75] goes on after a failure, says so once, and how many lines are missing', async () => {
  const failures: string[] = [];
  const inner = join(folder, 'inner');
  const log = logIn(join(inner, 'log'), 1e6, failures);
  rmSync(inner, { recursive: true });
  log.write('{"n":1}\n{"n":2}\n');
  log.write('{"n":3}\n');
  await log.close();
  expect(failures).toEqual([expect.stringContaining('ENOENT')]);
  mkdirSync(inner);
  log.write('{"n":4}\n');
  await log.close();
  expect(readFileSync(join(inner, 'log'), 'utf8')).toBe('{"leftOut":3}\n{"n":4}\n');
});

it('[V76] lets only its owner read it, also a file that all could read', async () => {
  const path = join(folder, 'made', 'log');
  await logIn(path, 1e6).close();
  const old = join(folder, 'old');
  writeFileSync(old, '', { mode: 0o644 });
  await logIn(old, 1e6).close();
  const modes = [dirname(path), path, old].map((each) => statSync(each).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600, 0o600]);
});

it('[D480] says in a line why an observed decision differs, where that was looked at', () => {
  const decided = {
    n: 7,
    request: { id: 'r', model: 'm', promptTokens: 10 },
    was: { endpoint: 'a', score: 0, by: 'observed' },
    is: { endpoint: 'b', score: 1 },
  } as Redecision;
  expect(JSON.parse(decisionLine('mine', 0, decided))).not.toHaveProperty('why');
  const explained = { why: 'tie', drawn: 'unexplained' } as const;
  expect(JSON.parse(decisionLine('mine', 0, { ...decided, explained }))).toMatchObject({
    agrees: false,
    why: 'tie',
  });
});
