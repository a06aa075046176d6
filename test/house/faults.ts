/** What is wrong with the tree, each as a line that says where and what to do. */

/** One file that imports another, both as paths from the root. */
export interface ImportOf {
  readonly path: string;
  readonly target: string;
}

export function roomFault({ path, target }: ImportOf, from: string, to: string): string {
  return (
    `${path} imports ${target}, and ${from} may not import ${to} (table in docs/folders.md): ` +
    'pass what it needs as an argument, or move one of the two files'
  );
}

/** Fails with these lines, if there are any, below what to do about all of them. */
export function expectNoFault(faults: readonly string[], todo?: string): void {
  if (faults.length === 0) return;
  throw new Error([...(todo === undefined ? [] : [`${todo}:`]), ...faults].join('\n'));
}

/** Fails unless `place`, such as a table of a page, names each of `known` once, and no other. */
export function expectSameNames(
  named: readonly string[],
  known: readonly string[],
  place: string,
): void {
  expectNoFault([
    ...known.filter((name) => !named.includes(name)).map((name) => `add ${name} to ${place}`),
    ...named
      .filter((name) => !known.includes(name))
      .map((name) => `take ${name} out of ${place}: the code has none of this name`),
    ...named
      .filter((name, at) => named.indexOf(name) !== at)
      .map((name) => `${place} has ${name} twice: take one away`),
  ]);
}

/**
 * A large group has hundreds of imports, and the one that closed the circle is among the rarest.
 */
const IMPORTS_SHOWN = 5;

/**
 * Files or folders that reach each other. `edges` has the imports of one by another, each pair in
 * one list: pairs with few imports are named first, because they are the easiest to take away.
 */
export function cycleFault(
  group: readonly string[],
  edges: readonly (readonly ImportOf[])[],
): string {
  const rare = edges.toSorted((one, other) => one.length - other.length).flat();
  const shown = rare
    .slice(0, IMPORTS_SHOWN)
    .map(({ path, target }) => `  ${path} imports ${target}`);
  const more = rare.length - shown.length;
  return [
    `${group.join(', ')} import each other:`,
    ...shown,
    ...(more > 0 ? [`  and ${more} more imports`] : []),
    '  take such an import away: pass what it needs as an argument, or move what both need into a ' +
      'file that imports neither',
  ].join('\n');
}

export function longFileFault(path: string, lines: number, linesMax: number): string {
  const cut = path.endsWith('.test.ts') ? 'by what the tests claim' : 'by what its parts do';
  return `${path} has ${lines} lines, and ${linesMax} are allowed: cut it into two ${cut}`;
}

export function fullFolderFault(folder: string, files: number, filesMax: number): string {
  return (
    `${folder} has ${files} files beside tests, and ${filesMax} are allowed: ` +
    'move files with one purpose into a folder of their own, with a row in docs/folders.md'
  );
}

export function twoExportsFault(name: string, paths: readonly string[]): string {
  return `${paths.join(' and ')} export ${name}: give each of them a name that says which it is`;
}

/** The first number after all that the series has: `T29` after `T28`. */
function nextFree(id: string, written: readonly string[]): string {
  const series = id.replace(/\d+$/, '');
  const numbers = written
    .filter((each) => each.replace(/\d+$/, '') === series)
    .map((each) => Number(each.slice(series.length)));
  return `${series}${Math.max(0, ...numbers) + 1}`;
}

/**
 * Where SPEC.md and the tests do not agree. `written` are the ids of SPEC.md in its order, `tested`
 * the tests that name an id.
 */
export function ruleFaults(
  written: readonly string[],
  tested: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const rules = new Set(written);
  const next = (id: string): string =>
    `the next free id of its series is ${nextFree(id, [...written, ...tested.keys()])}`;
  const twice = written.filter((id, at) => written.indexOf(id) !== at);
  return [
    ...twice.map((id) => `SPEC.md has ${id} twice: give one of the two another id; ${next(id)}`),
    ...[...rules]
      .filter((id) => !tested.has(id))
      .map((id) => `no test names ${id} of SPEC.md: write [${id}] into the name of its test`),
    ...[...tested]
      .filter(([id]) => !rules.has(id))
      .map(
        ([id, paths]) =>
          `${paths.join(' and ')} name ${id}, which SPEC.md does not have: write the rule there as ` +
          `"- **${id}** …", or name one that it has; ${next(id)}`,
      ),
  ];
}
