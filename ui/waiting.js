/**
 * The requests that wait at the picker, by band and tenant.
 *
 * @typedef {object} WaitingGroup
 * @property {number} priority
 * @property {string} [fairnessId]
 * @property {string} [objective]
 * @property {number} requests
 * @property {number} bytes
 * @property {number} [oldestMs]
 *
 * @typedef {object} WaitingDocument
 * @property {number} requests
 * @property {number} bytes
 * @property {number} [oldestMs]
 * @property {readonly WaitingGroup[]} groups
 * @property {number} [groupsNotShown]
 * @property {readonly { endpoint: string, requests: number, prefillTokens: number }[]} endpoints
 */
import { h } from 'preact';
import { bytes, count, duration, sharedStart } from './format.js';
import { TableCard } from './table-card.js';

/** More do not fit beside the pool. */
const ROWS_MAX = 20;

/** @type {Readonly<Record<string, (group: WaitingGroup) => string | undefined>>} */
const COLUMNS = {
  Priority: ({ priority }) => `${priority}`,
  Tenant: ({ fairnessId }) => fairnessId,
  Objective: ({ objective }) => objective,
  Requests: ({ requests }) => count(requests),
  Bodies: (group) => bytes(group.bytes),
  Oldest: ({ oldestMs }) => duration(oldestMs),
};

/** @param {{ waiting: WaitingDocument }} props */
export function Waiting({ waiting }) {
  const { groups, endpoints, requests, groupsNotShown = 0 } = waiting;
  const listed = groups.slice(0, ROWS_MAX);
  // A column in which no group has anything would take the room of the others on a phone.
  const columns = Object.entries(COLUMNS).filter(([, cell]) => listed.some((each) => cell(each)));
  const rows = listed.map((group) => columns.map(([, cell]) => cell(group) ?? '–'));
  const hidden = groups.length - rows.length + groupsNotShown;
  const heads = columns.map(([head]) => head);
  const start = sharedStart(endpoints.map(({ endpoint }) => endpoint));
  const most = endpoints
    .slice(0, 5)
    .map(({ endpoint, requests: each }) => `${endpoint.slice(start.length)} (${count(each)})`);
  return h(
    TableCard,
    { title: 'Waiting at the picker', heads, rows },
    h('p', null, `${count(requests)} ${requests === 1 ? 'request waits' : 'requests wait'}.`),
    most.length > 0 && h('p', { class: 'hint' }, `For ${most.join(', ')}.`),
    hidden > 0 &&
      h(
        'p',
        { class: 'hint' },
        hidden === 1
          ? 'One more group, with fewer requests, is not shown.'
          : `${count(hidden)} more groups, with fewer requests, are not shown.`,
      ),
  );
}
