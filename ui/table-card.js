/** A part of the page that is a table. */
import { h } from 'preact';

/** A column with a longer cell has a line of its own on a phone. */
const SHORT_CHARACTERS = 22;

/**
 * @param {object} props
 * @param {string} props.title
 * @param {readonly string[]} props.heads
 * @param {readonly (readonly string[])[]} props.rows the first cell of each names it
 * @param {import('preact').ComponentChildren} [props.children] what stands above the table
 */
export function TableCard({ title, heads, rows, children }) {
  const classes = heads.map((_head, at) => classOf(rows.map((row) => row[at] ?? '')));
  // A phone has no room for the row of heads: there each cell shows its own.
  const cellsOf = (/** @type {readonly string[]} */ cells) =>
    cells.map((cell, at) =>
      h('td', { key: at, class: classes[at + 1], 'data-head': heads[at + 1] }, cell),
    );
  return h(
    'section',
    { class: 'card' },
    h('div', { class: 'head' }, h('h2', null, title)),
    children,
    rows.length > 0 &&
      h(
        'div',
        { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': title },
        h(
          'table',
          null,
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              heads.map((head, at) =>
                h('th', { scope: 'col', key: head, class: at === 0 ? '' : classes[at] }, head),
              ),
            ),
          ),
          h(
            'tbody',
            null,
            rows.map(([name = '', ...cells], at) =>
              h(
                'tr',
                { key: at },
                h('th', { scope: 'row', 'data-head': heads[0] }, name),
                cellsOf(cells),
              ),
            ),
          ),
        ),
      ),
  );
}

/** @param {readonly string[]} cells of one column */
function classOf(cells) {
  if (!cells.some(isWord)) return 'number';
  return cells.some((cell) => cell.length > SHORT_CHARACTERS) ? 'long' : '';
}

/** Numbers may have a sign, and a dash stands for none. @param {string} cell */
function isWord(cell) {
  return cell !== '' && !/^[\d+\-–−]/.test(cell);
}
