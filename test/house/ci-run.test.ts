import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
let clone: string | undefined;

afterEach(() => {
  if (clone !== undefined) rmSync(clone, { recursive: true, force: true });
});

/** Runs `.ci/run` in a clone in which `npm ci` and `npm test` are these lines of shell. */
function run(npm: { readonly ci: string; readonly test: string }): {
  readonly status: number | null;
  readonly lastLine: string | undefined;
} {
  clone = mkdtempSync(join(tmpdir(), 'pointsman-ci-'));
  mkdirSync(join(clone, '.ci'));
  mkdirSync(join(clone, 'bin'));
  copyFileSync(join(root, '.ci/run'), join(clone, '.ci/run'));
  const fake = `#!/bin/sh\ncase "$1" in ci) ${npm.ci};; test) ${npm.test};; esac\n`;
  writeFileSync(join(clone, 'bin/npm'), fake, { mode: 0o755 });
  const { status, stdout } = spawnSync(join(clone, '.ci/run'), {
    cwd: tmpdir(),
    encoding: 'utf8',
    env: { ...process.env, PATH: `${join(clone, 'bin')}:${process.env['PATH'] ?? ''}` },
  });
  return { status, lastLine: stdout.trimEnd().split('\n').at(-1) };
}

describe('.ci/run', () => {
  it('ends with the closing line of the tests, even if npm prints more after it', () => {
    const test = 'echo "7 passed, 0 failed, 1 skipped"; echo "npm notice: a new npm" >&2';
    expect(run({ ci: ':', test })).toEqual({
      status: 0,
      lastLine: '7 passed, 0 failed, 1 skipped',
    });
  });

  it('sets CI for the tests, so that no real program may be missing', () => {
    expect(run({ ci: ':', test: '[ "$CI" = true ] && echo "1 passed, 0 failed"' }).status).toBe(0);
  });

  it('fails when a test fails', () => {
    const test = 'echo "6 passed, 1 failed"; echo "npm error code 3" >&2; exit 3';
    expect(run({ ci: ':', test })).toEqual({ status: 3, lastLine: '6 passed, 1 failed' });
  });

  it('fails when the packages cannot be installed, and when no test has printed a result', () => {
    const none = { lastLine: '0 passed, 1 failed' };
    expect(run({ ci: 'exit 4', test: 'echo "7 passed, 0 failed"' })).toEqual({
      ...none,
      status: 4,
    });
    expect(run({ ci: ':', test: ':' })).toEqual({ ...none, status: 1 });
  });
});
