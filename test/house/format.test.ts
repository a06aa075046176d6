import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, relative } from 'node:path';
import { expect, it } from 'vitest';
import { expectNoFault } from './faults.ts';

const root = dirname(dirname(import.meta.dirname));
const BIOME = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');

it('[T106] every file is as the formatter writes it', async () => {
  const { failed, stdout, stderr } = await checkFormat();
  const named = [...stdout.matchAll(/^::error title=[^,]*,file=([^,]+),/gm)].map(([, path = '']) =>
    relative(root, path),
  );
  expectNoFault([...new Set(named)].sort(), 'run `npm run format`, which writes these anew');
  expect(failed, stderr).toBe(false);
});

interface Checked {
  readonly failed: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

function checkFormat(): Promise<Checked> {
  const args = ['check', '--reporter=github', '--max-diagnostics=none', '--colors=off'];
  return new Promise((resolve) => {
    execFile(process.execPath, [BIOME, ...args], { cwd: root }, (error, stdout, stderr) =>
      resolve({ failed: error !== null, stdout, stderr }),
    );
  });
}
