import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const BENCH = join(dirname(dirname(import.meta.dirname)), 'bench', 'run.ts');
const execute = promisify(execFile);

async function printed(...args: readonly string[]): Promise<string> {
  const { stdout } = await execute(process.execPath, [BENCH, ...args]);
  return stdout;
}

const list = await printed('--help');
const names = [...list.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name = '']) => name);

it('[T107] the list of benchmarks is read', () => expect(names.length).toBeGreaterThan(20));

it.for(names)(
  '[T107] `npm run bench -- %s --help` prints its options, and measures nothing',
  {
    timeout: 60_000,
  },
  async (name) => {
    expect(await printed(name, '--help')).toMatch(/^(npm run bench -- |Usage: )/);
  },
);
