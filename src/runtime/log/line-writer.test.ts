import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const WRITER = join(import.meta.dirname, 'line-writer.ts');
const script = (lines: number): string => `
import { standardOutput } from ${JSON.stringify(WRITER)};
const output = standardOutput();
for (let n = 0; n < ${lines}; n++) output.write('x'.repeat(1000));
await output.end();
process.exit(0);
`;

function started(lines: number) {
  const args = ['--input-type=module', '-e', script(lines)];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

it('[V438] a process ends by itself where its output is on a full disk', async () => {
  const full = openSync('/dev/full', 'w');
  const args = ['--input-type=module', '-e', script(30)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', full, 'inherit'] });
  closeSync(full);
  try {
    const [code] = (await once(child, 'exit', { signal: AbortSignal.timeout(60_000) })) as [
      unknown,
    ];
    expect(code).toBe(0);
  } finally {
    child.kill('SIGKILL');
  }
});

it('[V144] a process ends where its output is open and not read', async () => {
  const child = started(5000);
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect([code, signal]).toEqual([null, 'SIGKILL']);
});

it('[V144] a process writes all lines where its output is read', async () => {
  const child = started(3000);
  let bytes = 0;
  child.stdout.on('data', (data: Buffer) => {
    bytes += data.length;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  expect([code, bytes]).toEqual([0, 3000 * 1001]);
});

it('[V144] a process ends by itself where the reader of its output is gone', async () => {
  const child = started(3000);
  child.stdout.destroy();
  const [code] = (await once(child, 'exit')) as [number | null];
  expect(code).toBe(0);
});
