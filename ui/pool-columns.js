/**
 * The columns of the pool: what each is sorted by and what its cells show. A column is written here
 * and nowhere else in the page.
 *
 * @import { ComponentChildren } from 'preact'
 * @import { LiveEndpoint } from '../src/serve/live/live-message.ts'
 * @import { State } from './state.js'
 */
import { h } from 'preact';
import { age, count, percent } from './format.js';

/**
 * @typedef {object} PoolColumn
 * @property {string} key
 * @property {string} name
 * @property {string} about
 * @property {string} kind its classes: `number`, and `wide` if it is left out on narrow screens
 * @property {boolean} [isSampled] whether an old sample makes it doubtful
 * @property {(row: LiveEndpoint) => number | string} valueOf
 * @property {(row: LiveEndpoint) => ComponentChildren} cellOf
 */

const STATE_RANKS = { ok: 0, new: 1, stale: 2, 'not scraped': 3, ejected: 4 };
/** Names in the order that people expect: `pod-9` before `pod-10`. */
const { compare: compareNames } = new Intl.Collator('en', { numeric: true });

/** What the picker itself takes for too old. */
const OLD_MS = 2000;
/** A cache that is used more than this is shown as full. */
const FULL = 0.95;

/** @type {PoolColumn} */
const STATE = {
  key: 'state',
  name: 'State',
  about: 'Trouble first',
  kind: 'wide',
  valueOf: ({ state }) => STATE_RANKS[state],
  cellOf: ({ state }) => h('span', { class: `state ${state.replace(' ', '-')}` }, state),
};

/** @type {readonly PoolColumn[]} */
const COLUMNS = [
  {
    key: 'id',
    name: 'Endpoint',
    about: 'Its name',
    kind: '',
    valueOf: ({ id }) => id,
    // The table shortens names by what all of them begin with.
    cellOf: ({ id }) => id,
  },
  STATE,
  {
    key: 'role',
    name: 'Role',
    about: 'The stages that it serves',
    kind: 'wide',
    valueOf: ({ role = '' }) => role,
    cellOf: ({ role = '' }) => role,
  },
  {
    key: 'inFlight',
    name: 'In flight',
    about: 'Sent by this picker and not ended; those taken for lost are no load',
    kind: 'number',
    valueOf: ({ inFlight }) => inFlight,
    cellOf: ({ inFlight, lost }) =>
      lost === undefined ? count(inFlight) : `${count(inFlight)}, ${count(lost)} lost`,
  },
  {
    key: 'prefillTokens',
    name: 'Prefill',
    about: 'Prompt tokens in flight that are not computed',
    kind: 'number wide',
    valueOf: ({ prefillTokens }) => prefillTokens,
    cellOf: ({ prefillTokens }) => count(prefillTokens),
  },
  {
    key: 'running',
    name: 'Running',
    about: 'By its last sample',
    kind: 'number wide',
    isSampled: true,
    valueOf: ({ sample }) => sample?.running ?? -1,
    cellOf: ({ sample }) => (sample === null ? '–' : count(sample.running)),
  },
  {
    key: 'waiting',
    name: 'Queue',
    about: 'Waiting there, by its last sample',
    kind: 'number',
    isSampled: true,
    valueOf: ({ sample }) => sample?.waiting ?? -1,
    cellOf: ({ sample }) => (sample === null ? '–' : count(sample.waiting)),
  },
  {
    key: 'kv',
    name: 'KV',
    about: 'Share of its KV cache in use',
    kind: 'number',
    isSampled: true,
    valueOf: ({ sample }) => sample?.kv ?? -1,
    cellOf: (row) => {
      const share = row.sample?.kv ?? null;
      return h(Meter, { share, tone: (share ?? 0) > FULL && !isOld(row) ? 'full' : '' });
    },
  },
  {
    key: 'hitRate',
    name: 'Hits',
    about: 'Expected prefix hits, last minute',
    kind: 'number',
    valueOf: ({ hitRate }) => hitRate ?? -1,
    cellOf: ({ hitRate }) => h(Meter, { share: hitRate, tone: 'good' }),
  },
  {
    key: 'age',
    name: 'Age',
    about: 'Age of its last sample',
    kind: 'number wide',
    valueOf: ({ sample }) => sample?.ageMs ?? Number.MAX_SAFE_INTEGER,
    cellOf: ({ sample }) => (sample === null ? '–' : age(sample.ageMs)),
  },
];

/**
 * All columns, without roles where no endpoint has one.
 * @param {readonly LiveEndpoint[]} rows
 */
export function columnsOf(rows) {
  const hasRoles = rows.some(({ role }) => role !== undefined);
  return COLUMNS.filter(({ key }) => key !== 'role' || hasRoles);
}

/**
 * Whether what its last sample says is no longer so: it is shown fainter, beside its age.
 * @param {LiveEndpoint} row
 */
export function isOld({ state, sample }) {
  if (state === 'ejected') return sample !== null && sample.ageMs > OLD_MS;
  return state === 'stale' || state === 'not scraped';
}

/**
 * The endpoints that fit the filter, in the order of the table; those that are equal by it in the order of their names,
 * so that a row stays where it is while what it is sorted by stays.
 * @param {State} state
 * @returns {readonly LiveEndpoint[]}
 */
export function sortedRows({ pool, labels, table }) {
  const wanted = table.text.trim().toLowerCase();
  const fits = (/** @type {LiveEndpoint} */ row) =>
    [row.id, row.address, row.role ?? '', row.state, ...(labels.get(row.id) ?? [])].some((text) =>
      text.toLowerCase().includes(wanted),
    );
  const rows = wanted === '' ? [...pool.rows] : pool.rows.filter(fits);
  const { valueOf } = COLUMNS.find(({ key }) => key === table.sort) ?? STATE;
  const sign = table.down ? -1 : 1;
  return rows.sort((a, b) => {
    const [left, right] = [valueOf(a), valueOf(b)];
    const order =
      typeof left === 'number' && typeof right === 'number'
        ? sign * (left - right)
        : -sign * compareNames(String(left), String(right));
    return order || compareNames(a.id, b.id);
  });
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
