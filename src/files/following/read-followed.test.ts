import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readFollowed } from './read-followed.ts';

const folder = mkdtempSync(join(tmpdir(), 'followed-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);

it('[V249] reads a file, also through a link', () => {
  writeFileSync(at('file'), 'text');
  symlinkSync(at('file'), at('link'));
  expect(readFollowed(at('link')).toString()).toBe('text');
});

it.skipIf(process.platform === 'win32')(
  '[V249] refuses a pipe and a device, and does not wait',
  () => {
    execFileSync('mkfifo', [at('pipe')]);
    symlinkSync('/dev/zero', at('zero'));
    for (const name of ['pipe', 'zero']) {
      expect(() => readFollowed(at(name))).toThrow(`${at(name)} is not a file`);
    }
  },
);

it('[V249] refuses a folder, a missing file, a link to itself, and a file past the bound', () => {
  writeFileSync(at('large'), 'x'.repeat(11));
  symlinkSync(at('loop'), at('loop'));
  expect(() => readFollowed(folder)).toThrow('is not a file');
  expect(() => readFollowed(at('none'))).toThrow('ENOENT');
  expect(() => readFollowed(at('loop'))).toThrow('ELOOP');
  expect(() => readFollowed(at('large'), 10)).toThrow('has 11 bytes; at most 10 are read');
});
