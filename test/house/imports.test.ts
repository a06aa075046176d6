import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { cycleFault, expectNoFault, type ImportOf, roomFault } from './faults.ts';
import { cyclesIn, importsOf, readText, sourceFiles } from './source-tree.ts';

/** Who may import whom; the rules are in SPEC.md, section House. */

const ANYTHING = 'anything';

/**
 * Which room may import which, from the table in docs/folders.md. `anything` is everything but
 * test and bench.
 */
const MAY_IMPORT: ReadonlyMap<string, readonly string[] | typeof ANYTHING> = new Map(
  [...readText('docs/folders.md').matchAll(/^\| `([^`]+)` *\|[^|]*\|([^|]*)\|$/gm)].map(
    ([, room = '', imports = '']) => [
      room,
      imports.trim() === ANYTHING
        ? ANYTHING
        : [...imports.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
    ],
  ),
);

const isTest = (path: string): boolean => path.endsWith('.test.ts');
const isShipped = (path: string): boolean => /^(src|scorers|stub-server|ui)\//.test(path);
const shipped = sourceFiles().filter((path) => isShipped(path) && !isTest(path));

function roomOf(path: string): string {
  const [top = '', second = '', third = ''] = path.split('/');
  if (top !== 'src') return top;
  return second === 'lab' ? `src/lab/${third}` : `src/${second}`;
}

function mayImport(path: string, target: string): boolean {
  const from = roomOf(path);
  const to = roomOf(target);
  if (from === to) return true;
  const allowed = MAY_IMPORT.get(from);
  if (allowed === undefined) return false;
  if (allowed === ANYTHING) return to !== 'test' && to !== 'bench';
  return allowed.includes(to);
}

it('[T1] imports only in the allowed direction', () => {
  const wrong = shipped.flatMap((path) =>
    importsOf(path)
      .filter((target) => /\.[jt]s$/.test(target) && !mayImport(path, target))
      .map((target) => roomFault({ path, target }, roomOf(path), roomOf(target))),
  );
  expectNoFault(wrong);
});

it('[T1] has a row for every folder there is, and no other', () => {
  expect(
    [...MAY_IMPORT.keys()].toSorted(),
    'each folder of src has a row in the table "Rooms" of docs/folders.md, and no other has one',
  ).toEqual([...new Set(shipped.map(roomOf))].toSorted());
});

it('[T1] lets benches use nothing of the tests, and nothing that is shipped use either', () => {
  const wrong = sourceFiles()
    // The configuration of the tests is one of theirs.
    .filter((path) => !path.startsWith('test/') && !isTest(path) && path !== 'vitest.config.ts')
    .flatMap((path) =>
      importsOf(path)
        .filter(
          (target) =>
            target.startsWith('test/') || (isShipped(path) && target.startsWith('bench/')),
        )
        .map((target) => `${path} imports ${target}`),
    );
  expectNoFault(wrong);
});

it('[T14] says in docs/folders.md what is in each folder of src and stub-server', () => {
  const page = readText('docs/folders.md');
  const folders = new Set(shipped.map((path) => dirname(path)));
  const unknown = [...folders].filter(
    (folder) =>
      /^(?:src|stub-server)\//.test(folder) &&
      !MAY_IMPORT.has(folder) &&
      !page.includes(`](../${folder}) `),
  );
  expect(folders.size).toBeGreaterThan(100);
  expect(unknown, 'each of these needs a row in docs/folders.md that says what it has').toEqual([]);
});

/** Every import of what is shipped by what is shipped. */
const imports: readonly ImportOf[] = (() => {
  const files = new Set(shipped);
  return shipped.flatMap((path) =>
    importsOf(path)
      .filter((target) => files.has(target))
      .map((target) => ({ path, target })),
  );
})();

/** Groups of places that import each other, where `placeOf` says the place of a file. */
function cycleFaults(placeOf: (path: string) => string): readonly string[] {
  const edges = new Map<string, Set<string>>();
  for (const { path, target } of imports) {
    const from = placeOf(path);
    if (placeOf(target) !== from) {
      edges.set(from, (edges.get(from) ?? new Set()).add(placeOf(target)));
    }
  }
  return cyclesIn(edges.keys(), (place) => edges.get(place) ?? []).map((group) => {
    const pairs = new Map<string, ImportOf[]>();
    for (const found of imports) {
      const [from, to] = [placeOf(found.path), placeOf(found.target)];
      if (from === to || !group.includes(from) || !group.includes(to)) continue;
      const pair = `${from} ${to}`;
      pairs.set(pair, [...(pairs.get(pair) ?? []), found]);
    }
    return cycleFault(group, [...pairs.values()]);
  });
}

it('[T10] has no cycle between files', () => {
  expect(imports.length).toBeGreaterThan(3000);
  expectNoFault(cycleFaults((path) => path));
});

it.each([2, 3, 4, 5])('[T10] has no cycle between folders, seen %i names deep', (depth) => {
  const folderOf = (path: string): string => path.split('/').slice(0, -1).slice(0, depth).join('/');
  expectNoFault(cycleFaults(folderOf));
});
