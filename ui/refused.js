/**
 * The latest requests that flow control refused, and why.
 *
 * @import { LiveRefusal } from '../src/serve/live/live-message.ts'
 */
import { h } from 'preact';
import { clock, duration } from './format.js';
import { TableCard } from './table-card.js';

const HEADS = ['At', 'Priority', 'Tenant', 'Waited', 'Status', 'Why', 'Request'];

/** @param {{ refused: readonly LiveRefusal[] }} props */
export function Refused({ refused }) {
  const rows = refused.map(({ requestId, wallMs, priority, fairnessId, waitedMs, status, why }) => [
    clock(wallMs),
    `${priority}`,
    fairnessId,
    duration(waitedMs),
    `${status}`,
    why,
    requestId,
  ]);
  return h(TableCard, { title: 'Refused by flow control', heads: HEADS, rows });
}
