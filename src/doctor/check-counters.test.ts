import { expect, it } from 'vitest';
import { readText } from '../../test/house/source-tree.ts';
import { checkPicker } from './check-picker.ts';

const findingsOf = (metrics: string) =>
  checkPicker({ ready: { status: 200, text: '{}' }, endpoints: [WELL], metrics });
const WELL = {
  id: 'a',
  address: '10.0.0.1:8000',
  metricsAgeMs: 50,
  ejected: false,
  scrapes: { state: 'working' },
} as const;

it('[O541] doctor names plugins that fail, and says how many spans are thrown away', () => {
  const page = [
    'pointsman_plugin_faults_total{plugin_kind="scorer",plugin_name="mine",call="score"} 1200',
    'pointsman_plugin_faults_total{plugin_kind="scorer",plugin_name="mine",call="onDone"} 34',
    'pointsman_plugin_faults_total{plugin_kind="filter",plugin_name="other",call="filter"} 1',
    'pointsman_trace_spans_total{outcome="exported"} 5',
    'pointsman_trace_spans_total{outcome="failed"} 1178',
    'pointsman_trace_spans_total{outcome="dropped"} 0',
  ].join('\n');
  const findings = findingsOf(page);
  expect(findings.map(({ severity, id, what }) => `${severity} ${id}: ${what}`)).toEqual([
    'warning plugin-fails: plugins have failed since the picker started, and decisions are made without them: scorer mine (1,234), filter other (1).',
    'warning traces-not-sent: spans were thrown away since the picker started; requests are not affected: failed (1,178).',
  ]);
  for (const { mend = '' } of findings) {
    const [, heading = ''] = /docs\/runbooks\.md#(\S+)\.$/.exec(mend) ?? [];
    expect(readText('docs/runbooks.md').toLowerCase()).toContain(
      `\n## ${heading.replaceAll('-', ' ')}\n`,
    );
  }
  expect(findingsOf(page.replaceAll(/ \d+$/gm, ' 0'))).toEqual([]);
  expect(findingsOf('a page that is closed')).toEqual([]);
});
