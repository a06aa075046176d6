import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { expectNoFault } from './faults.ts';
import { readText, sourceFiles } from './source-tree.ts';

const root = dirname(dirname(import.meta.dirname));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, ...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(root, file), ...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
  });
}

it('[T107] a wrong option of a program for developers is named in a sentence, with exit code 2', async () => {
  const { code, stderr } = await run('test/busy.ts', '--rnus', '3');
  expect(stderr).toMatch(/^Unknown option '--rnus'[^\n]*; --help prints the options\n$/);
  expect(code).toBe(2);
});

it('[T107] --help of such a program prints its options, and nothing is run', async () => {
  const { code, stdout } = await run('test/busy.ts', '--help');
  expect(stdout).toMatch(/^npm run test:busy -- .*--runs <n>/s);
  expect(code).toBe(0);
});

it('[T107] every such program reads its options in this way', () => {
  const own = 'bench/support/parse-options.ts';
  expectNoFault(
    sourceFiles().filter(
      (path) => path !== own && /import \{[^}]*\bparseArgs\b[^}]*\}/.test(readText(path)),
    ),
    `take parseOptions of ${own} in place of parseArgs`,
  );
});
