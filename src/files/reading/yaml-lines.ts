import type * as Yaml from 'yaml';
import type { ConfigIssue } from '../../framework/error.ts';
import { yamlLibrary } from './read-yaml.ts';

/** The text behind a key in a path. */
const BEHIND_KEY = /^(?:$|[.[])/;
const ITEM = /^\[(\d+)\]/;

/**
 * The issues with line and column of what they are about, or of what is around it where that is
 * missing. `text` must be one that `readYaml` has read; it is parsed once more, because the places of
 * all values take much memory, and a valid file needs none.
 */
export function withLines(text: string, issues: readonly ConfigIssue[]): readonly ConfigIssue[] {
  const library = yamlLibrary();
  const lineCounter = new library.LineCounter();
  const { contents } = library.parseDocument(text, { lineCounter, prettyErrors: false });
  return issues.map(({ path, message }) => {
    const { line, col } = lineCounter.linePos(offsetAt(contents, path));
    return { path: `line ${line}, column ${col}: ${path}`, message };
  });
}

/** The number of characters before what `path` names, such as `endpoints[0].labels.rank`. */
function offsetAt(top: Yaml.ParsedNode | null, path: string): number {
  const { isMap, isSeq } = yamlLibrary();
  let offset = top?.range[0] ?? 0;
  let node = top;
  let left = path;
  while (node !== null && left !== '') {
    if (isMap<Yaml.ParsedNode, Yaml.ParsedNode | null>(node)) {
      const pair = node.items.find(({ key }) => isBegin(left, keyOf(key)));
      if (pair === undefined) break;
      offset = pair.key.range[0];
      left = left.slice(keyOf(pair.key).length).replace(/^\./, '');
      node = pair.value;
    } else if (isSeq<Yaml.ParsedNode>(node)) {
      const [written = '', index] = ITEM.exec(left) ?? [];
      const item = node.items[Number(index)];
      if (item === undefined) break;
      offset = item.range[0];
      left = left.slice(written.length).replace(/^\./, '');
      node = item;
    } else break;
  }
  return offset;
}

function isBegin(path: string, key: string): boolean {
  return key !== '' && path.startsWith(key) && BEHIND_KEY.test(path.slice(key.length));
}

function keyOf(key: Yaml.ParsedNode): string {
  return 'value' in key ? String(key.value) : '';
}
