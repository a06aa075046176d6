/**
 * The latest requests that flow control refused, and why: no table, because the reason and the
 * request's id are longer than any column.
 *
 * @import { LiveRefusal } from '../src/serve/live/live-message.ts'
 */
import { h } from 'preact';
import { clock, duration } from './format.js';

/** @param {{ refused: readonly LiveRefusal[] }} props */
export function Refused({ refused }) {
  return h(
    'section',
    { class: 'card refused' },
    h('div', { class: 'head' }, h('h2', null, 'Refused by flow control')),
    h(
      'ul',
      { 'aria-label': 'The latest that were refused' },
      refused.map((each) => h(Refusal, { key: each.requestId, ...each })),
    ),
  );
}

/** @param {LiveRefusal} props */
function Refusal({ requestId, wallMs, priority, fairnessId, waitedMs, status, why }) {
  const facts = [`priority ${priority}`, `waited ${duration(waitedMs)}`, `status ${status}`];
  return h(
    'li',
    null,
    h('span', { class: 'time' }, clock(wallMs)),
    h('span', { class: 'tenant' }, fairnessId),
    h('span', { class: 'facts' }, facts.join(' · ')),
    h('span', { class: 'reason' }, why),
    h('span', { class: 'request' }, requestId),
  );
}
