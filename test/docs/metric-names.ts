/** Names in docs/metrics.md are written without this in most tables. */
const EPP_PREFIX = 'llm_d_epp_';

/**
 * The metrics that docs/metrics.md names, in code spans: in full, without `llm_d_epp_`, or after
 * the beginning that stands at the head of their table (`llm_d_epp_kv_cache_…`). A span such as
 * `…_bytes` is the one before it with another last word.
 */
export function documentedMetrics(page: string): ReadonlySet<string> {
  const names = new Set<string>();
  let head = '';
  let last = '';
  for (const line of page.split('\n')) {
    if (!line.startsWith('|')) head = '';
    for (const [, span = ''] of line.matchAll(/`([\w…]+)`/g)) {
      if (span.endsWith('…')) {
        head = span.slice(0, -1);
        continue;
      }
      const name = span.startsWith('…_') ? last.replace(/[^_]*$/, span.slice(2)) : span;
      last = name;
      for (const each of [name, EPP_PREFIX + name, head + name]) names.add(each);
    }
  }
  return names;
}
