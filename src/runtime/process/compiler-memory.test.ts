import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('[B225] V8 has the setting that frees the memory of compilations at once', () => {
  const source = join(import.meta.dirname, 'compiler-memory.ts');
  const program = `
    import { freeCompilerMemoryAtOnce } from ${JSON.stringify(source)};
    freeCompilerMemoryAtOnce();
  `;
  const args = ['--input-type=module', '--eval', program];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  // V8 prints a line about a flag that it does not know.
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});
