import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, it } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import { watchFile } from './watch-file.ts';

const around = mkdtempSync(join(tmpdir(), 'watched-'));
const folder = join(around, 'folder');
const file = join(folder, 'file');
let stop: (() => Promise<void>) | undefined;

afterEach(async () => {
  await stop?.();
  rmSync(around, { recursive: true });
});

it('[V270] goes on where the folder was removed or renamed, and made again', async () => {
  let changes = 0;
  const changed = async (change: () => void): Promise<void> => {
    const before = changes;
    change();
    await eventually(
      () => changes,
      (now) => now > before,
      2400,
    );
  };
  mkdirSync(folder);
  writeFileSync(file, '1');
  const watch = watchFile(file, {
    onChange: () => {
      changes += 1;
    },
    onError: () => undefined,
  });
  ({ stop } = watch);
  await watch.ready;
  const ways = [
    () => rmSync(folder, { recursive: true }),
    () => renameSync(folder, `${folder}-before`),
  ];
  for (const goes of ways) {
    await changed(goes);
    await changed(() => {
      mkdirSync(folder);
      writeFileSync(file, 'made again');
    });
    // Whichever event it was: from here on the new folder is watched.
    await changed(() => writeFileSync(file, `changed ${changes}`));
  }
});
