import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Compiles the byte kernel: `npm run kernel`, after a change of its source. The compiler is
 * fetched for it, because it takes 100 MB and is needed seldom.
 */
const COMPILER = 'assemblyscript@0.28.20';
const FLAGS =
  '-O3 --converge --noAssert --runtime stub --initialMemory 2 --enable simd --disable mutable-globals';

const kernel = join(import.meta.dirname, '..', '..', 'src', 'openai', 'kernel');

const folder = mkdtempSync(join(tmpdir(), 'pointsman-kernel-'));
try {
  const source = readFileSync(join(kernel, 'byte-kernel.as'));
  // The compiler takes no other extension.
  writeFileSync(join(folder, 'byte-kernel.ts'), source);
  const command = ['--yes', '--package', COMPILER, 'asc', 'byte-kernel.ts', ...FLAGS.split(' ')];
  execFileSync('npx', [...command, '-o', 'byte-kernel.wasm'], { cwd: folder, stdio: 'inherit' });
  const code = readFileSync(join(folder, 'byte-kernel.wasm')).toString('base64');
  const lines = code.match(/.{1,90}/g) ?? [];
  writeFileSync(
    join(kernel, 'byte-kernel-code.ts'),
    `// Made from byte-kernel.as by \`npm run kernel\`: do not edit.
export const BYTE_KERNEL_SOURCE: string =
  '${createHash('sha256').update(source).digest('hex')}';
export const BYTE_KERNEL_CODE: string =
${lines.map((line) => `  '${line}'`).join(' +\n')};
`,
  );
} finally {
  rmSync(folder, { recursive: true });
}
