import { parseSync, Visitor } from 'rolldown/utils';
import { readText } from './source-tree.ts';

/**
 * By name, the files that read a property of that name: `flags.port` or `const { port } = flags`.
 * A type that has it, an object that is made with it, and `{ port: _, ...others }`, which leaves it
 * out, do not read it.
 */
export function propertyReads(paths: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const reads = new Map<string, Set<string>>();
  for (const path of paths) {
    const add = (name: string): void => {
      reads.set(name, (reads.get(name) ?? new Set()).add(path));
    };
    const { program, errors } = parseSync(path, readText(path));
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message ?? ''}`);
    new Visitor({
      MemberExpression: ({ computed, property }) => {
        if (!computed && property.type === 'Identifier') add(property.name);
      },
      ObjectPattern: ({ properties }) => {
        for (const each of properties) {
          if (each.type !== 'Property' || each.key.type !== 'Identifier') continue;
          const isLeftOut = each.value.type === 'Identifier' && /^_+$/.test(each.value.name);
          if (!isLeftOut) add(each.key.name);
        }
      },
    }).visit(program);
  }
  return new Map([...reads].map(([name, files]) => [name, [...files]]));
}
