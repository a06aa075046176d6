import { readText } from '../house/source-tree.ts';

export interface Parameter {
  readonly type: string;
  /** As the page writes it, such as `sources[].header`. */
  readonly name: string;
  readonly path: readonly string[];
  /** What it may be, in words. */
  readonly values: string;
  /** Only one value is allowed, and the schema itself refuses any other. */
  readonly isFixed: boolean;
}

/** The parameters of docs/configuration-reference.md, which is made from the schemas. */
export function documentedParameters(): readonly Parameter[] {
  const [, ...sections] = readText('docs/configuration-reference.md').split(/^### /m);
  return sections.flatMap((section) => {
    const type = section.slice(0, section.indexOf('\n'));
    return [...section.matchAll(/^\| `([^`]+)` \| ([^|]*) \|/gm)].map(
      ([, name = '', values = '']) => ({
        type,
        name,
        path: name.replaceAll('[]', '').split('.'),
        values,
        isFixed: /^`[^`]*`$/.test(values),
      }),
    );
  });
}
