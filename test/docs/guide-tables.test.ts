import { basename } from 'node:path';
import { expect, it } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { SHADOW_HEADS } from '../../src/commands/output/shadow-table.ts';
import { ENGINES } from '../../src/endpoints/scraping/page/engine-metrics.ts';
import { policySources } from '../../src/flow/control/policy-types.ts';
import { TRACE_FORMATS } from '../../src/lab/traces/reading/find-format.ts';
import { EJECTION_REASONS } from '../../src/picker/ejection/ejection-plan.ts';
import { SHADOW_GAUGES } from '../../src/shadow/shadow-metrics.ts';
import { REQUEST_OUTCOMES, STAGE_OUTCOMES } from '../../src/sidecar/exchange/sidecar-metrics.ts';
import { KV_CONNECTORS } from '../../src/sidecar/options/sidecar-options.ts';
import { expectNoFault, expectSameNames } from '../house/faults.ts';
import { readText, sourceFiles } from '../house/source-tree.ts';

/** The rows of the table below a heading of a page, by the name in their first cell. */
function rowsOf(page: string, heading: string): ReadonlyMap<string, string> {
  const [, section = ''] = readText(page).split(`\n${heading}\n`);
  const [text = ''] = section.split(/^##/m);
  return new Map([...text.matchAll(/^\| `([^`]+)`.*$/gm)].map(([row, name = '']) => [name, row]));
}

it('[O351] docs/model-servers.md names each known engine, with the series of its load', () => {
  const rows = rowsOf('docs/model-servers.md', '## Metrics of other names');
  const missing = ENGINES.flatMap(({ name, waiting, running, kvUsage }) =>
    [waiting, running, kvUsage].flatMap(([spec]) => {
      const [series = ''] = spec?.split('{') ?? [];
      return rows.get(name)?.includes(`\`${series}\``) || series === ''
        ? []
        : [`${name}: ${series}`];
    }),
  );
  expectNoFault(missing, 'write these engines and series into docs/model-servers.md');
  expect([...rows.keys()]).toEqual(ENGINES.map(({ name }) => name));
});

it('[T70] docs/trace-format.md has a row for each trace format, and for no other', () => {
  const heading = '# Traces: what `simulate` reads, and how one becomes another';
  const rows = new Set(rowsOf('docs/trace-format.md', heading).keys());
  const known = ['capture', ...TRACE_FORMATS.map(({ name }) => name)];
  expectSameNames([...rows], known, 'the table of trace formats in docs/trace-format.md');
});

it('[T76] docs/metrics.md names each reason for an ejection', () => {
  const page = readText('docs/metrics.md');
  const [, rest = ''] = page.split('`pointsman_ejections_total`');
  const [text = ''] = rest.split('\n- ');
  const missing = EJECTION_REASONS.filter((reason) => !text.includes(`\`${reason}\``));
  expectNoFault(missing, 'add these reasons to pointsman_ejections_total in docs/metrics.md');
});

it('[T87] docs/metrics.md names each way in which a request and a stage of the sidecar end', () => {
  const [, after = ''] = readText('docs/metrics.md').split('\n| `pointsman_sidecar_…` ');
  const [table = ''] = after.split('\n\n');
  const missing = [
    ...REQUEST_OUTCOMES.map((outcome) => ['requests_total', outcome] as const),
    ...STAGE_OUTCOMES.map((outcome) => ['stages_total', outcome] as const),
  ].filter(
    ([metric, outcome]) => !new RegExp(`^\\| \`${metric}\`.*\`${outcome}\``, 'm').test(table),
  );
  expectNoFault(
    missing.map(([metric, outcome]) => `pointsman_sidecar_${metric}: ${outcome}`),
    'add these outcomes to the rows under “The sidecar” in docs/metrics.md',
  );
});

it('[T122] docs/sidecar.md has a row for each connector, and for no other', () => {
  const [, ...rows] = rowsOf('docs/sidecar.md', '## Connectors').keys();
  expectSameNames(rows, KV_CONNECTORS, 'the table of connectors in docs/sidecar.md');
});

it('[T77] docs/access.md has a row for each document under /debug, and for no other', () => {
  const heading = '## The documents under `/debug`';
  const rows = [...rowsOf('docs/access.md', heading).keys()];
  const files = sourceFiles().filter(
    (path) => path.startsWith('src/serve/') && !path.endsWith('.test.ts'),
  );
  const paths = files.flatMap((file) =>
    [...readText(file).matchAll(/'(\/debug\/[a-z/]+)'/g)].map(([, path = '']) => path),
  );
  // Profiles are kinds of one page.
  const served = new Set(paths.map((path) => path.replace(/\/(?:profile|heap)?$/, '')));
  const known = rows.map((row) => row.replace('/…', ''));
  expectSameNames(known, [...served], 'the table of documents in docs/access.md');
});

it('[T85] docs/shadows.md has a row for each column of `shadow top`, in their order', () => {
  const [, after = ''] = readText('docs/shadows.md').split('\n| column ');
  const [table = ''] = after.split('\n\n');
  const rows = [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, head = '']) => head);
  // The first column has the names.
  expectSameNames(rows, SHADOW_HEADS.slice(1), 'the table of columns in docs/shadows.md');
  expect(rows, 'the order of `shadow top`').toEqual(SHADOW_HEADS.slice(1));
});

it('[T88] docs/shadows.md has a row for each gauge of a shadow, and for no other', () => {
  const [, after = ''] = readText('docs/shadows.md').split('\n| `pointsman_shadow_…` ');
  const [table = ''] = after.split('\n\n');
  const cells = [...table.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell);
  const named = cells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  expectSameNames(
    named,
    SHADOW_GAUGES.map(([name]) => name),
    'the table of gauges in docs/shadows.md',
  );
});

it('[T86] docs/configuration.md names each path that a parser reads', () => {
  const [, after = ''] = readText('docs/configuration.md').split('\n## How requests are read\n');
  const [section = ''] = after.split('\n## ');
  const files = sourceFiles().filter((path) => /\/parsers\/[a-z]+-parser\.ts$/.test(path));
  const paths = files.flatMap((file) =>
    [...readText(file).matchAll(/^ {2}'(\/[^']+)':/gm)].map(([, path = '']) => ({ file, path })),
  );
  expect(paths.length).toBeGreaterThan(15);
  const missing = paths.filter(
    ({ path }) => !section.includes(`${path.replace(/\/render$/, '')}\``),
  );
  expectNoFault(
    missing.map(({ file, path }) => `${file}: ${path}`),
    'write these paths into docs/configuration.md',
  );
});

it('[T78] docs/trace-format.md has each kind of record of a capture, and no other', () => {
  const source = readText('src/journal/capture/capture-record.ts');
  const written = [...source.matchAll(/readonly e: '([^']+)'/g)].map(([, kind = '']) => kind);
  const [, after = ''] = readText('docs/trace-format.md').split('\n| `e` ');
  const [table = ''] = after.split('\n\n');
  const named = [...table.matchAll(/^\| (`[^|]+`) +\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, kind = '']) => kind),
  );
  expectSameNames(named, [...new Set(written)], 'the table of records in docs/trace-format.md');
});

it('[O379] docs/telemetry.md names each attribute of a request’s spans, and no other', () => {
  const sources = ['src/telemetry/tracing/attributes.ts', 'src/telemetry/tracing/phases-of.ts'];
  const put = sources.flatMap((file) =>
    [...readText(file).matchAll(/\bput\(\s*'([^']+)'/g)].map(([, name = '']) => name),
  );
  const [, table = ''] = readText('docs/telemetry.md').split('\n| span ');
  const [rows = ''] = table.split('\n\n');
  const named = [...rows.matchAll(/`([a-z_.*]+)`/g)].map(([, name = '']) => name);
  const covers = (name: string, attribute: string): boolean =>
    name.endsWith('*') ? attribute.startsWith(name.slice(0, -1)) : attribute === name;
  const missing = put.filter((attribute) => !named.some((name) => covers(name, attribute)));
  expectNoFault(missing, 'add these attributes to the table of spans in docs/telemetry.md');
  const gone = named.filter(
    (name) => /[._]/.test(name) && !put.some((attribute) => covers(name, attribute)),
  );
  const spans = readText('src/telemetry/tracing/phases-of.ts');
  expectNoFault(
    gone.filter((name) => !spans.includes(`'${name}'`)),
    'no span has these attributes: take them out of docs/telemetry.md',
  );
});

it('[T75] docs/folders.md has each built-in filter and its file, and no other', () => {
  const [, section = ''] = readText('docs/folders.md').split('\n## Built-in filters\n');
  const rows = [...section.matchAll(/^\| \[([\w-]+\.ts)\]\(\S+\)\s*\|([^|]*)\|/gm)];
  const files = sourceFiles()
    .filter((path) => path.startsWith('src/plugins/filters/') && !path.endsWith('.test.ts'))
    .map((path) => basename(path));
  expectSameNames(
    rows.map(([, file = '']) => file),
    files,
    'the table of built-in filters in docs/folders.md',
  );
  const types = rows.flatMap(([, , named = '']) =>
    [...named.matchAll(/`([^`]+)`/g)].map(([, type = '']) => type),
  );
  expectSameNames(
    types,
    EMBEDDED_CATALOGUE.filters.map(({ type }) => type),
    'the types in the table of built-in filters in docs/folders.md',
  );
});

it('[T81] docs/flow-control.md has a row for each policy of flow control, and for no other', () => {
  const [, section = ''] = readText('docs/flow-control.md').split('\n## Policies\n');
  const [text = ''] = section.split(/^##/m);
  const cells = [...text.matchAll(/^\|([^|]*)\|/gm)].map(([, cell = '']) => cell);
  const names = cells.flatMap((cell) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
  const named = new Set(names.filter((name) => !STRATEGIES.has(name)));
  expectSameNames(
    [...named],
    policySources.map(({ type }) => type),
    'the table of policies in docs/flow-control.md',
  );
});

/** Named behind the type of `program-aware-fairness`. */
const STRATEGIES: ReadonlySet<string> = new Set(['las', 'turn-priority']);

it('[T79] the guides to the code name only functions and fields that are in the files beside them', () => {
  const guides = ['docs/architecture.md', 'docs/how-to-change.md'].map(readText).join('\n\n');
  const page = guides.replaceAll(/\s+/g, ' ');
  const path = String.raw`\[[^\]]*\]\(\.\./([^)]+\.[jt]s)\)`;
  // `name` of [file.ts](…), `name` of `Type` in [file.ts](…), and [file.ts](…), `name`
  const before = new RegExp(
    String.raw`\`([\w#]+)\` (?:of|in) (?:\`(\w+)\` (?:of|in) )?${path}`,
    'g',
  );
  const behind = new RegExp(String.raw`${path}, \`([\w#]+)\``, 'g');
  const named = [
    ...[...page.matchAll(before)].flatMap(([, one, other, file = '']) => [
      { file, name: one },
      { file, name: other },
    ]),
    ...[...page.matchAll(behind)].map(([, file = '', name]) => ({ file, name })),
  ];
  expect(named.length).toBeGreaterThan(50);
  const gone = named.filter(
    ({ file, name }) =>
      name !== undefined && !new RegExp(String.raw`(?<![\w#])${name}\b`).test(readText(file)),
  );
  expectNoFault(
    gone.map(({ file, name }) => `${file}: ${name}`),
    'write the new name, or the file that has it now, into docs/architecture.md or docs/how-to-change.md',
  );
});
