import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';

const root = dirname(dirname(import.meta.dirname));

/** What no one wrote, or is not for reading. */
const NOT_OURS: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', 'coverage']);

/** Every file of the tree, as paths from its root with `/`. */
export function allFiles(): readonly string[] {
  return readdirSync(root, { recursive: false, withFileTypes: true })
    .filter(({ name }) => !NOT_OURS.has(name))
    .flatMap((entry) =>
      entry.isDirectory()
        ? readdirSync(join(root, entry.name), { recursive: true, withFileTypes: true })
        : [entry],
    )
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)).split(sep).join('/'))
    .filter((path) => !path.split('/').some((part) => NOT_OURS.has(part)))
    .sort();
}

/** TypeScript, and what a browser runs as it is. */
export function sourceFiles(): readonly string[] {
  return allFiles().filter((path) => path.endsWith('.ts') || /^ui\/.*\.js$/.test(path));
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Relative imports of a file, dynamic ones and worker files included, as paths from the root. */
export function importsOf(path: string): readonly string[] {
  return importedBy(path, withoutComments(readText(path)));
}

/** As `importsOf`, without imports of types alone, which nothing loads. */
export function loadsOf(path: string): readonly string[] {
  const code = withoutComments(readText(path));
  return importedBy(path, code.replace(/^(?:import|export) type [^;]+;/gm, ''));
}

function importedBy(path: string, code: string): readonly string[] {
  const specifiers = code.matchAll(
    /(?:\bfrom\s+|\bimport\s+|\bimport\(\s*|\bnew URL\(\s*)['"](\.{1,2}\/[^'"]+)['"]/g,
  );
  return [...specifiers].map(([, specifier = '']) =>
    normalize(join(dirname(path), specifier))
      .split(sep)
      .join('/'),
  );
}

/** Every file reached from these, these included, by imports of any kind or as said. */
export function reachedFrom(
  entries: readonly string[],
  from: (path: string) => readonly string[] = importsOf,
): ReadonlySet<string> {
  const known = new Set(sourceFiles());
  const reached = new Set(entries);
  for (const path of reached) {
    for (const target of from(path)) if (known.has(target)) reached.add(target);
  }
  return reached;
}

/** Groups of two or more nodes that reach each other. `edges` gives what a node leads to. */
export function cyclesIn(
  nodes: Iterable<string>,
  edges: (node: string) => Iterable<string>,
): readonly (readonly string[])[] {
  // Tarjan's algorithm: nodes stay on the stack until the first node of their group is done.
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  const visit = (node: string): void => {
    order.set(node, order.size);
    lowest.set(node, order.size - 1);
    stack.push(node);
    for (const next of edges(node)) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) {
        lowest.set(node, Math.min(lowest.get(node) ?? 0, lowest.get(next) ?? 0));
      }
    }
    if (lowest.get(node) !== order.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) groups.push(group.toSorted());
  };
  for (const node of nodes) if (!order.has(node)) visit(node);
  return groups;
}

/** Also blanks the contents of plain strings, so that prose is not taken for code. */
export function codeOnly(text: string): string {
  return withoutComments(text).replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''");
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|[^:'"`\\])\/\/.*$/gm, '$1');
}
