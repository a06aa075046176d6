/**
 * What only some pickers have: shadows, a promotion, requests that wait, headroom and replicas.
 * Each part is shown where the picker answers its document with something in it.
 *
 * @import { ShadowStatus } from '../src/lab/shadow/start-shadow.ts'
 * @import { PromotionStatus } from '../src/lab/promotion/promotion.ts'
 * @import { State } from './state.js'
 */
import { h } from 'preact';
import { count, duration, percent } from './format.js';

/** @param {{ state: State }} props */
export function Documents({ state: { documents } }) {
  const shadows = /** @type {{ shadows?: ShadowStatus[] } | undefined} */ (
    documents.get('/debug/shadows')
  )?.shadows;
  const promotion = /** @type {PromotionStatus | undefined} */ (documents.get('/debug/promotion'));
  return h(
    'div',
    { class: 'parts' },
    shadows !== undefined && shadows.length > 0 && h(Shadows, { shadows }),
    promotion !== undefined && h(Promotion, { promotion }),
  );
}

/**
 * @param {object} props
 * @param {string} props.title
 * @param {readonly string[]} props.heads
 * @param {readonly (readonly string[])[]} props.rows the first cell of each names it
 * @param {import('preact').ComponentChildren} [props.children]
 */
export function TableCard({ title, heads, rows, children }) {
  return h(
    'section',
    { class: 'card' },
    h('div', { class: 'head' }, h('h2', null, title)),
    children,
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
            heads.map((head) => h('th', { scope: 'col', key: head }, head)),
          ),
        ),
        h(
          'tbody',
          null,
          rows.map(([name = '', ...cells]) =>
            h(
              'tr',
              { key: name },
              h('th', { scope: 'row' }, name),
              cells.map((cell, at) => h('td', { key: at, class: 'number' }, cell)),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {{ shadows: ShadowStatus[] }} props */
function Shadows({ shadows }) {
  const rows = shadows.map(({ name, running, parity, restarts, dropped }) => {
    const all = parity?.all;
    const { firstTokens = 0, predictedMs = 0, observedMs = 0 } = all?.calibration ?? {};
    const sooner =
      all === undefined || all.predicted === 0
        ? '–'
        : duration((all.shadowTtftMs - all.primaryTtftMs) / all.predicted);
    return [
      running ? name : `${name} (down)`,
      count(all?.decisions ?? 0),
      percent(all && all.decisions > 0 ? all.agreed / all.decisions : null),
      sooner,
      firstTokens === 0 ? '–' : (observedMs / predictedMs).toFixed(2),
      `${count(restarts)} / ${count(dropped)}`,
    ];
  });
  const heads = [
    'Shadow',
    'Decisions',
    'Same endpoint',
    'First token, difference',
    'Observed / predicted',
    'Restarts / dropped',
  ];
  return h(TableCard, { title: 'Shadows', heads, rows });
}

/** @param {{ promotion: PromotionStatus }} props */
function Promotion({ promotion: { shadow, percent: share, automatic, conditions, outcomes } }) {
  const now =
    shadow === undefined
      ? 'The configuration in charge decides all requests.'
      : `${shadow} decides ${share} % of the requests.`;
  const arms =
    shadow === undefined
      ? []
      : [
          /** @type {const} */ ([shadow, outcomes.challenger]),
          /** @type {const} */ (['in charge', outcomes.incumbent]),
        ];
  const rows = arms.map(([name, { requests, failed, latency }]) => [
    name,
    count(requests),
    count(failed),
    latency.count === 0 ? '–' : duration(latency.meanMs),
  ]);
  const heads = ['Decided by', 'Requests', 'Failed', 'Mean first token'];
  return h(
    TableCard,
    { title: 'Promotion', heads, rows },
    h('p', null, `${now} ${automatic ? 'The rule is active.' : 'No rule is active.'}`),
    conditions.length > 0 &&
      h(
        'ul',
        { class: 'conditions' },
        conditions.map(({ met, text }) =>
          h(
            'li',
            { key: text, class: met ? 'met' : '' },
            `${met ? 'is met' : 'waits for'}: ${text}`,
          ),
        ),
      ),
  );
}
