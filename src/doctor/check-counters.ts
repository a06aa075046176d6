import type { Finding } from './finding.ts';
import { someNames } from './some-names.ts';

/** A line of the picker's page of metrics: name, labels and value. */
const LINE = /^(\w+)\{([^}]*)\} (\S+)$/gm;
const NAMES_SHOWN = 3;

/** What the picker's counters say has happened since it started. Nothing where its page is closed. */
export function checkCounters(page: string): readonly Finding[] {
  const faults = counted(page, 'pointsman_plugin_faults_total', ['plugin_kind', 'plugin_name']);
  const lost = counted(page, 'pointsman_trace_spans_total', ['outcome']);
  lost.delete('exported');
  return [
    ...found(faults, {
      id: 'plugin-fails',
      where: 'picker',
      what: 'plugins have failed since the picker started, and decisions are made without them',
      mend: 'The log has the first error of each; see docs/runbooks.md#pointsman-plugin-faults.',
    }),
    ...found(lost, {
      id: 'traces-not-sent',
      where: 'traces',
      what: 'spans were thrown away since the picker started; requests are not affected',
      mend: 'See docs/runbooks.md#pointsman-traces-not-sent.',
    }),
  ];
}

/** The sums of a counter above 0, by the values of these labels. */
function counted(page: string, family: string, labels: readonly string[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [, name, pairs = '', value] of page.matchAll(LINE)) {
    if (name !== family || !(Number(value) > 0)) continue;
    const key = labels.map((label) => valueOf(pairs, label)).join(' ');
    sums.set(key, (sums.get(key) ?? 0) + Number(value));
  }
  return sums;
}

function valueOf(pairs: string, label: string): string {
  const [, value = ''] = new RegExp(`(?:^|,)${label}="([^"]*)"`).exec(pairs) ?? [];
  return value;
}

function found(
  sums: ReadonlyMap<string, number>,
  { what, ...finding }: Omit<Finding, 'severity'>,
): readonly Finding[] {
  if (sums.size === 0) return [];
  const most = [...sums].toSorted(([, a], [, b]) => b - a);
  const names = most.map(([name, count]) => `${name} (${count.toLocaleString('en')})`);
  return [{ severity: 'warning', ...finding, what: `${what}: ${someNames(names, NAMES_SHOWN)}.` }];
}
