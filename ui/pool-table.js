/**
 * The pool as a table.
 *
 * @import { LiveEndpoint } from '../src/serve/live/live-message.ts'
 * @import { State } from './state.js'
 */
import { Fragment, h } from 'preact';
import { age, count, percent, sharedStart, sharedStartOfPods, shortener } from './format.js';
import { onPage, Pager } from './pager.js';
import { sortedRows } from './state.js';

/** @type {readonly { key: string, name: string, about: string, kind?: string }[]} */
const COLUMNS = [
  { key: 'id', name: 'Endpoint', about: 'Its name' },
  { key: 'state', name: 'State', about: 'Trouble first, then by load', kind: 'wide' },
  { key: 'role', name: 'Role', about: 'The stages that it serves', kind: 'wide' },
  {
    key: 'inFlight',
    name: 'In flight',
    about: 'Sent by this picker and not ended',
    kind: 'number',
  },
  {
    key: 'prefillTokens',
    name: 'Prefill',
    about: 'Prompt tokens in flight that are not computed',
    kind: 'number wide',
  },
  { key: 'running', name: 'Running', about: 'By its last sample', kind: 'number wide' },
  { key: 'waiting', name: 'Queue', about: 'Waiting there, by its last sample', kind: 'number' },
  { key: 'kv', name: 'KV', about: 'Share of its KV cache in use', kind: 'number' },
  { key: 'hitRate', name: 'Hits', about: 'Expected prefix hits, last minute', kind: 'number' },
  { key: 'age', name: 'Age', about: 'Age of its last sample', kind: 'number wide' },
];

/** @param {{ state: State, changed: () => void }} props */
export function PoolTable({ state, changed }) {
  const { table, pool, totals } = state;
  const rows = sortedRows(state);
  const all = count(totals?.endpoints ?? 0);
  return h(
    'section',
    { class: 'card pool' },
    h(Tools, { state, changed, fitting: rows.length }),
    totals?.endpoints === 0
      ? h(
          'p',
          { class: 'hint' },
          `The picker knows no model server: ${pool.whyEmpty ?? '/readyz says why'}.`,
        )
      : h(Table, { state, changed, rows: onPage(rows, table.page) }),
    h(Pager, { of: rows.length, table, changed }),
    pool.notShown > 0 &&
      h(
        'p',
        { class: 'hint' },
        `${count(pool.rows.length)} of ${all} endpoints: those with trouble and the most loaded ones.`,
      ),
  );
}

/** @param {{ state: State, changed: () => void, rows: readonly LiveEndpoint[] }} props */
function Table({ state: { table, pool, labels }, changed, rows }) {
  const ids = pool.rows.map(({ id }) => id);
  const nameOf = shortener(ids);
  const left = sharedStartOfPods(ids).slice(sharedStart(ids).length);
  const hasRoles = pool.rows.some(({ role }) => role !== undefined);
  const columns = COLUMNS.filter(({ key }) => key !== 'role' || hasRoles);
  const heads = columns.map((column) => h(Head, { key: column.key, column, table, changed }));
  const labelsOf = (/** @type {string} */ id) => (table.labels ? (labels.get(id) ?? []) : []);
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Endpoints' },
    left !== '' && h('p', { class: 'hint start' }, `… is ${left}`),
    h(
      'table',
      null,
      h('thead', null, h('tr', null, heads)),
      h(
        'tbody',
        null,
        rows.map((row) => {
          const name = nameOf(row.id);
          return h(Row, { key: row.id, row, name, hasRoles, labels: labelsOf(row.id) });
        }),
      ),
    ),
  );
}

/** @param {{ state: State, changed: () => void, fitting: number }} props */
function Tools({ state: { table, pool }, changed, fitting }) {
  const onInput = (/** @type {Event} */ event) => {
    table.text = /** @type {HTMLInputElement} */ (event.target).value;
    table.page = 0;
    changed();
  };
  const onLabels = () => {
    table.labels = !table.labels;
    changed();
  };
  const found = table.text === '' ? '' : `${count(fitting)} of ${count(pool.rows.length)}`;
  return h(
    'div',
    { class: 'head' },
    h('h2', null, 'Pool'),
    h('span', { class: 'hint', role: 'status' }, found),
    h('button', { type: 'button', 'aria-pressed': table.labels, onClick: onLabels }, 'Labels'),
    h('input', {
      id: 'filter',
      type: 'search',
      placeholder: 'Name, label, state',
      'aria-label': 'Filter endpoints',
      value: table.text,
      onInput,
    }),
  );
}

/**
 * @param {{ column: typeof COLUMNS[number], table: State['table'], changed: () => void }} props
 */
function Head({ column: { key, name, about, kind = '' }, table, changed }) {
  const isSorted = table.sort === key;
  const onClick = () => {
    table.down = isSorted ? !table.down : true;
    table.sort = key;
    table.page = 0;
    changed();
  };
  // Names begin with A where numbers begin with the largest.
  const isName = key === 'id' || key === 'role';
  const order = table.down === isName ? 'ascending' : 'descending';
  return h(
    'th',
    { scope: 'col', class: kind, ...(isSorted && { 'aria-sort': order }) },
    h(
      'button',
      { type: 'button', title: about, onClick },
      name,
      h(
        'span',
        { class: 'arrow', 'aria-hidden': 'true' },
        isSorted ? (table.down ? '▾' : '▴') : '',
      ),
    ),
  );
}

/**
 * The row of an endpoint, and one below it for what is wrong and for its labels.
 * @param {{ row: LiveEndpoint, name: string, hasRoles: boolean, labels: readonly string[] }} props
 */
function Row({ row, name, hasRoles, labels }) {
  const { id, address, role, inFlight, prefillTokens, sample, hitRate, state, why } = row;
  const hasMore = why !== undefined || labels.length > 0;
  const full = (sample?.kv ?? 0) > 0.95;
  // What an old sample says is no longer so: it is shown fainter, beside its age.
  const old = state === 'stale' || state === 'not scraped' ? ' old' : '';
  return h(
    Fragment,
    null,
    h(
      'tr',
      { class: hasMore ? 'with-more' : '' },
      h('th', { scope: 'row', class: 'id', title: `${id}, ${address}` }, name),
      h('td', { class: 'wide' }, h('span', { class: `state ${state.replace(' ', '-')}` }, state)),
      hasRoles && h('td', { class: 'wide' }, role ?? ''),
      h('td', { class: 'number' }, count(inFlight)),
      h('td', { class: 'number wide' }, count(prefillTokens)),
      h('td', { class: `number wide${old}` }, sample === null ? '–' : count(sample.running)),
      h('td', { class: `number${old}` }, sample === null ? '–' : count(sample.waiting)),
      h(
        'td',
        { class: `number${old}` },
        h(Meter, { share: sample?.kv ?? null, tone: full && old === '' ? 'full' : '' }),
      ),
      h('td', { class: 'number' }, h(Meter, { share: hitRate, tone: 'good' })),
      h('td', { class: 'number wide' }, sample === null ? '–' : age(sample.ageMs)),
    ),
    hasMore &&
      h(
        'tr',
        { class: 'more' },
        h(
          'td',
          { colSpan: hasRoles ? 10 : 9 },
          why !== undefined &&
            h('span', { class: `why ${state.replace(' ', '-')}` }, `${state}: ${why}`),
          labels.length > 0 && h('span', { class: 'labels' }, labels.join(' · ')),
        ),
      ),
  );
}

/** @param {{ share: number | null, tone: string }} props */
function Meter({ share, tone }) {
  return h(
    'span',
    { class: `meter ${tone}` },
    h(
      'span',
      { class: 'track', 'aria-hidden': 'true' },
      h('span', { class: 'fill', style: { width: `${100 * Math.min(1, share ?? 0)}%` } }),
    ),
    h('span', { class: 'number' }, percent(share)),
  );
}
