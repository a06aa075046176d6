/**
 * Long tables page by page: a browser is busy for a good part of a second with 1,000 rows, each
 * time that their values change.
 */
import { h } from 'preact';
import { count } from './format.js';

const ROWS = 50;

/**
 * The rows of a page, or of the last one where there are fewer.
 * @template T
 * @param {readonly T[]} rows
 * @param {number} page
 */
export function onPage(rows, page) {
  const first = ROWS * Math.min(page, lastPage(rows.length));
  return rows.slice(first, first + ROWS);
}

/** @param {number} of */
function lastPage(of) {
  return Math.max(0, Math.ceil(of / ROWS) - 1);
}

/** @param {{ of: number, table: { page: number }, changed: () => void }} props */
export function Pager({ of, table, changed }) {
  if (of <= ROWS) return null;
  const last = lastPage(of);
  const page = Math.min(table.page, last);
  const to = (/** @type {number} */ wanted) => () => {
    table.page = wanted;
    changed();
  };
  const button = (/** @type {string} */ name, /** @type {number} */ wanted) =>
    h(
      'button',
      { type: 'button', disabled: wanted < 0 || wanted > last, onClick: to(wanted) },
      name,
    );
  const first = ROWS * page;
  const range = `${count(first + 1)}–${count(Math.min(of, first + ROWS))} of ${count(of)}`;
  return h(
    'nav',
    { class: 'pager', 'aria-label': 'Endpoints of the pool' },
    h('span', { class: 'hint', role: 'status' }, range),
    button('First', page === 0 ? -1 : 0),
    button('Previous', page - 1),
    button('Next', page + 1),
    button('Last', page === last ? last + 1 : last),
  );
}
