import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { installOnce } from './install-once.ts';

const installIn = (folder: string): Promise<boolean> =>
  installOnce({
    what: 'Envoy',
    folder: join(folder, 'pointsman', 'envoy-1'),
    isInstalled: () => Promise.resolve(false),
    install: () => Promise.reject(new Error('something was installed')),
    log: () => undefined,
  });

it('[O413] a cache folder that cannot be made is named, with the variable that names another', async () => {
  const root = mkdtempSync(join(tmpdir(), 'pointsman-cache-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const file = join(root, 'file');
  writeFileSync(file, '');
  await expect(installIn(file)).rejects.toThrow(
    `the cache folder ${join(file, 'pointsman')} cannot be made or written to (ENOTDIR`,
  );
  await expect(installIn(file)).rejects.toThrow('let XDG_CACHE_HOME name a folder that can');
});

// Where the system gives ENOENT for a folder in one that exists, Node tries again without end.
it.skipIf(!existsSync('/proc/self'))(
  '[O413] an installation ends where the system allows no cache folder',
  () => expect(installIn('/proc/nope')).rejects.toThrow(/\/proc\/nope\/pointsman cannot be made/),
);
