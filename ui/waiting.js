/**
 * The requests that wait at the picker, by band and tenant.
 *
 * @import { LiveWaiting } from '../src/serve/live/live-message.ts'
 * @typedef {LiveWaiting['groups'][number]} WaitingGroup
 */
import { h } from 'preact';
import { bytes, count, duration } from './format.js';
import { TableCard } from './table-card.js';

/** @type {Readonly<Record<string, (group: WaitingGroup) => string | undefined>>} */
const COLUMNS = {
  Priority: ({ priority }) => `${priority}`,
  Tenant: ({ fairnessId }) => fairnessId,
  Objective: ({ objective }) => objective,
  Requests: ({ requests }) => count(requests),
  Bodies: (group) => bytes(group.bytes),
  Oldest: ({ oldestMs }) => duration(oldestMs),
};

/** @param {{ waiting: LiveWaiting, nameOf: (id: string) => string }} props */
export function Waiting({ waiting, nameOf }) {
  const { groups, endpoints, requests, groupsNotShown = 0, endpointsNotShown } = waiting;
  // A column in which no group has anything would take the room of the others on a phone.
  const columns = Object.entries(COLUMNS).filter(([, cell]) => groups.some((each) => cell(each)));
  const rows = groups.map((group) => columns.map(([, cell]) => cell(group) ?? '–'));
  const heads = columns.map(([head]) => head);
  const most = endpoints.map(
    ({ endpoint, requests: each }) => `${nameOf(endpoint)} (${count(each)})`,
  );
  if (endpointsNotShown > 0) most.push(`and ${count(endpointsNotShown)} more`);
  return h(
    TableCard,
    { title: 'Waiting at the picker', heads, rows },
    h('p', null, `${count(requests)} ${requests === 1 ? 'request waits' : 'requests wait'}.`),
    most.length > 0 && h('p', { class: 'hint' }, `For ${most.join(', ')}.`),
    groupsNotShown > 0 &&
      h(
        'p',
        { class: 'hint' },
        groupsNotShown === 1
          ? 'One more group, with fewer requests, is not shown.'
          : `${count(groupsNotShown)} more groups, with fewer requests, are not shown.`,
      ),
  );
}
