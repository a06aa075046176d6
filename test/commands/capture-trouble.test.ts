import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { LiveStack } from '../support/programs/live-stack.ts';

it('[O535] /readyz says why the capture cannot be written', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'pointsman-capture-'));
  const folder = join(parent, 'capture');
  const stack = await LiveStack.start({ capture: { folder, bytesMax: 1_000_000 } });
  try {
    rmSync(folder, { recursive: true });
    writeFileSync(folder, '');
    await stack.send(1);
    const readyz = async (): Promise<string> =>
      (await fetch(`http://${stack.admin}/readyz`)).text();
    const said = await eventually(readyz, (text) => text.includes('cannot be written'));
    expect(said).toMatch(/the capture cannot be written: ENOTDIR: /);
  } finally {
    await stack.stop();
    rmSync(parent, { recursive: true });
  }
});
