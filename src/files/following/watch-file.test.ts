import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, it } from 'vitest';
import { eventually } from '../../../bench/support/stack.ts';
import { watchFile } from './watch-file.ts';

let around: string;
let folder: string;
let file: string;
let stop: (() => Promise<void>) | undefined;

beforeEach(() => {
  around = mkdtempSync(join(tmpdir(), 'watched-'));
  folder = join(around, 'folder');
  file = join(folder, 'file');
  mkdirSync(folder);
});

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

/** Follows the file, and gives what was last read of it. */
async function follow(): Promise<() => string | undefined> {
  let text: string | undefined;
  const onChange = (): void => {
    try {
      text = readFileSync(file, 'utf8');
    } catch {
      text = undefined;
    }
  };
  const watch = watchFile(file, { onChange, onError: () => undefined });
  ({ stop } = watch);
  await watch.ready;
  return () => text;
}

it('[V485] sees each change of a file in another folder that links lead to', async () => {
  const elsewhere = join(around, 'elsewhere');
  const at = (name: string): string => join(elsewhere, name);
  mkdirSync(elsewhere);
  writeFileSync(at('first'), 'first');
  symlinkSync('first', at('live'));
  symlinkSync(at('live'), file);
  const text = await follow();
  const becomes = (wanted: string | undefined, change: () => void): Promise<unknown> => {
    change();
    return eventually(text, (found) => found === wanted);
  };
  await becomes('in place', () => writeFileSync(at('first'), 'in place'));
  await becomes('renamed', () => {
    writeFileSync(at('new'), 'renamed');
    renameSync(at('new'), at('first'));
  });
  await becomes('another link', () => {
    writeFileSync(at('second'), 'another link');
    symlinkSync('second', at('new'));
    renameSync(at('new'), at('live'));
  });
  await becomes(undefined, () => {
    symlinkSync('live', at('new'));
    renameSync(at('new'), at('live'));
  });
  await becomes('again', () => {
    rmSync(elsewhere, { recursive: true });
    mkdirSync(elsewhere);
    writeFileSync(at('live'), 'again');
  });
});
