/**
 * The pool as a table.
 *
 * @import { LiveEndpoint } from '../src/serve/live/live-message.ts'
 * @import { PoolColumn } from './pool-columns.js'
 * @import { State } from './state.js'
 */
import { Fragment, h } from 'preact';
import { count, sharedStart, sharedStartOfPods, shortener } from './format.js';
import { onPage, Pager } from './pager.js';
import { columnsOf, isOld, sortedRows } from './pool-columns.js';

/** An IPv4 address with its port: names that are longer need the room of the bars. */
const SHORT_CHARS = 21;

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
  const isLong = rows.some(({ id }) => nameOf(id).length > SHORT_CHARS);
  const left = sharedStartOfPods(ids).slice(sharedStart(ids).length);
  const columns = columnsOf(pool.rows);
  const heads = columns.map((column) => h(Head, { key: column.key, column, table, changed }));
  const labelsOf = (/** @type {string} */ id) => (table.labels ? (labels.get(id) ?? []) : []);
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Endpoints' },
    left !== '' && h('p', { class: 'hint start' }, `… stands for ${left}`),
    h(
      'table',
      { class: isLong ? 'long' : '' },
      h('thead', null, h('tr', null, heads)),
      h(
        'tbody',
        null,
        rows.map((row) => {
          const name = nameOf(row.id);
          return h(Row, { key: row.id, row, name, columns, labels: labelsOf(row.id) });
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
 * @param {{ column: PoolColumn, table: State['table'], changed: () => void }} props
 */
function Head({ column: { key, name, about, kind }, table, changed }) {
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
 * @param {{
 *   row: LiveEndpoint, name: string, columns: readonly PoolColumn[], labels: readonly string[]
 * }} props
 */
function Row({ row, name, columns, labels }) {
  const { id, address, state, why } = row;
  const hasMore = why !== undefined || labels.length > 0;
  const cells = columns.map(({ key, kind, isSampled, cellOf }) => {
    if (key === 'id') {
      return h('th', { key, scope: 'row', class: 'id', title: `${id}, ${address}` }, name);
    }
    const fainter = isSampled && isOld(row) ? ' old' : '';
    return h('td', { key, class: `${kind}${fainter}` }, cellOf(row));
  });
  return h(
    Fragment,
    null,
    h('tr', { class: hasMore ? 'with-more' : '' }, cells),
    hasMore &&
      h(
        'tr',
        { class: 'more' },
        h(
          'td',
          { colSpan: columns.length },
          why !== undefined &&
            h('span', { class: `why ${state.replace(' ', '-')}` }, `${state}: ${why}`),
          labels.length > 0 && h('span', { class: 'labels' }, labels.join(' · ')),
        ),
      ),
  );
}
