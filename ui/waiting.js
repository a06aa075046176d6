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
import { count, duration } from './format.js';
import { TableCard } from './table-card.js';

/** More do not fit beside the pool. */
const ROWS_MAX = 20;

/** @param {{ waiting: WaitingDocument }} props */
export function Waiting({ waiting }) {
  const { groups, endpoints, requests, groupsNotShown = 0 } = waiting;
  const rows = groups
    .slice(0, ROWS_MAX)
    .map((group) => [
      `${group.priority}`,
      group.fairnessId ?? '–',
      group.objective ?? '–',
      count(group.requests),
      `${count(group.bytes / 1000)} kB`,
      duration(group.oldestMs),
    ]);
  const hidden = groups.length - rows.length + groupsNotShown;
  const heads = ['Priority', 'Tenant', 'Objective', 'Requests', 'Bodies', 'Oldest'];
  const most = endpoints
    .slice(0, 5)
    .map(({ endpoint, requests: each }) => `${endpoint} (${count(each)})`);
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
