import { execFileSync, spawn } from 'node:child_process';
import {
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeWhole } from './write-whole.ts';

describe('a result that is written', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pointsman-write-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('[V280] goes into a pipe at its path, which stays a pipe', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = spawn('cat', [pipe]);
    const read = text(reader.stdout);
    writeWhole(pipe, ['one ', 'two']);
    expect(await read).toBe('one two');
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it('[V280] goes where a link leads, and the link stays', () => {
    const [file, link] = [join(folder, 'file'), join(folder, 'link')];
    writeFileSync(file, 'before');
    symlinkSync(file, link);
    writeWhole(link, ['after']);
    expect(readFileSync(file, 'utf8')).toBe('after');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  it('[V281] leaves what was there, and nothing else, where it cannot be made', () => {
    const file = join(folder, 'file');
    writeFileSync(file, 'before');
    function* failing(): Generator<string, void> {
      yield 'half';
      throw Object.assign(new Error('ENOSPC: no space left on device'), { syscall: 'write' });
    }
    expect(() => writeWhole(file, failing())).toThrow(
      `${file}: cannot be written: ENOSPC: no space left on device`,
    );
    expect(readFileSync(file, 'utf8')).toBe('before');
    expect(readdirSync(folder)).toEqual(['file']);
  });

  it('[V281] names a path that cannot be written, and why', () => {
    const path = join(folder, 'no-folder', 'file');
    expect(() => writeWhole(path, ['x'])).toThrow(`${path}: cannot be written: ENOENT`);
  });
});
