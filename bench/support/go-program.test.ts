import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildGoProgram } from './go-program.ts';

/** `go` in these tests is a script: what it does is all that differs. */
describe('programs that are built from a Go module', () => {
  const program = {
    title: 'the server',
    name: 'their-server',
    module: 'example.com/their/module',
    version: 'v1.2.3',
    folder: 'cmd/server',
    go: '1.25.0',
  };
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pointsman-go-program-'));
    vi.stubEnv('XDG_CACHE_HOME', folder);
    vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  function putGo(script: string): void {
    writeFileSync(join(folder, 'go'), `#!/bin/sh\necho "$@" >> ${folder}/calls\n${script}\n`);
    chmodSync(join(folder, 'go'), 0o755);
  }

  const calls = (): number => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n').length;

  it('[D580] are built once, of one exact version, and said to be', async () => {
    putGo('cp go.mod server');
    const log: string[] = [];
    const built = await buildGoProgram(program, (line) => void log.push(line));
    const path = join(folder, 'pointsman', 'their-server-v1.2.3', 'server');
    expect(built).toEqual({ path, version: 'example.com/their/module v1.2.3' });
    expect(readFileSync(path, 'utf8')).toContain('require example.com/their/module v1.2.3\n');
    expect(log).toEqual([
      'building the server of example.com/their/module v1.2.3, some minutes, once',
    ]);
    expect(await buildGoProgram(program, () => undefined)).toEqual(built);
    expect(calls()).toBe(1);
  });

  it('[D606] may have a source of ours, which uses packages of the module', async () => {
    putGo('cp main.go server');
    const built = await buildGoProgram({ ...program, source: 'package main\n' }, () => undefined);
    const path = join(folder, 'pointsman', 'their-server-v1.2.3', 'server');
    expect(built).toMatchObject({ path });
    expect(readFileSync(path, 'utf8')).toBe('package main\n');
    expect(readFileSync(join(folder, 'calls'), 'utf8')).toMatch(/ -o server \.\n$/);
  });

  it('[D580] leave nothing behind where the build fails, and say why', async () => {
    putGo('echo half > server; echo "missing go.sum entry" >&2; exit 1');
    const built = await buildGoProgram(program, () => undefined);
    expect(built).toEqual({ unavailable: expect.stringContaining('missing go.sum entry') });
    expect(readdirSync(join(folder, 'pointsman'))).toEqual([]);
  });

  it('[D580] say where there is no Go', async () => {
    vi.stubEnv('PATH', folder);
    expect(await buildGoProgram(program, () => undefined)).toEqual({
      unavailable:
        'the server of example.com/their/module v1.2.3 could not be built: there is no `go` on PATH',
    });
    expect(existsSync(join(folder, 'pointsman', 'their-server-v1.2.3'))).toBe(false);
  });
});
