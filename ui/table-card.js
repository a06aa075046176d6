/** A part of the page that is a table. */
import { h } from 'preact';

/**
 * @param {object} props
 * @param {string} props.title
 * @param {readonly string[]} props.heads
 * @param {readonly (readonly string[])[]} props.rows the first cell of each names it
 * @param {import('preact').ComponentChildren} [props.children] what stands above the table
 */
export function TableCard({ title, heads, rows, children }) {
  const classOf = (/** @type {number} */ at) =>
    rows.some((row) => isWord(row[at])) ? '' : 'number';
  const cellsOf = (/** @type {readonly string[]} */ cells) =>
    cells.map((cell, at) => h('td', { key: at, class: classOf(at + 1) }, cell));
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
                h('th', { scope: 'col', key: head, class: at === 0 ? '' : classOf(at) }, head),
              ),
            ),
          ),
          h(
            'tbody',
            null,
            rows.map(([name = '', ...cells], at) =>
              h('tr', { key: at }, h('th', { scope: 'row' }, name), cellsOf(cells)),
            ),
          ),
        ),
      ),
  );
}

/** Numbers may have a sign, and a dash stands for none. @param {string | undefined} cell */
function isWord(cell = '') {
  return cell !== '' && !/^[\d+\-–−]/.test(cell);
}
