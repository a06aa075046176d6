import { it } from 'vitest';
import { expectNoFault } from './faults.ts';
import { readText, sourceFiles } from './source-tree.ts';

const CACHE_FOLDER = 'src/files/writing/cache-folder.ts';

it('[O416] names the cache folder in one file, which refuses one that cannot be made', () => {
  const others = sourceFiles().filter(
    (path) => path !== CACHE_FOLDER && !path.endsWith('.test.ts'),
  );
  expectNoFault(
    others.filter((path) => /'\.cache'|env\['XDG_CACHE_HOME'\]/.test(readText(path))),
    `take cacheFolder() and makeCacheFolder() of ${CACHE_FOLDER}`,
  );
});
