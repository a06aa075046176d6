import { expect, it } from 'vitest';
import { codeOnly, loadsOf, reachedFrom, readText } from './source-tree.ts';

/**
 * What Node 20 does not have of the language and its library. Methods of sets are left out: schemas
 * have methods of the same names.
 */
const NEWER =
  /\b(?:Map|Object)\.groupBy|\bPromise\.(?:try|withResolvers)|\bArray\.fromAsync|\bIterator\.from|\.(?:values|entries|keys)\(\)\s*\.(?:map|filter|toArray|some|every|find|reduce|take|drop|flatMap|forEach)\b|\busing \w+ =|\bRegExp\.escape|\bMath\.(?:sumPrecise|f16round)|\bError\.isError|\bUint8Array\.from(?:Base64|Hex)/g;

it('[O102] the library uses nothing that Node 20 lacks', () => {
  // A picker in another process has no replicas, whose modules are only loaded with it.
  const files = [...reachedFrom(['src/index.ts'], loadsOf)].filter(
    (path) => !path.startsWith('src/replicas/'),
  );
  expect(files).toContain('src/library/enqueue.ts');
  const found = files.flatMap((path) =>
    [...codeOnly(readText(path)).matchAll(NEWER)].map(([use]) => `${path}: ${use}`),
  );
  expect(found).toEqual([]);
});
