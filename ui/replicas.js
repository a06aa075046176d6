/**
 * The other pickers of the pool, with which this one shares what it does.
 *
 * @import { ReplicaStatus } from '../src/replicas/replica-status.ts'
 */
import { h } from 'preact';
import { count, duration } from './format.js';
import { TableCard } from './table-card.js';

/** @param {{ status: ReplicaStatus }} props */
export function Replicas({ status: { id, connected, sinceMs, open, peers } }) {
  const rows = peers.map((peer) => [
    peer.id,
    count(peer.open),
    duration(peer.lagMs),
    duration(peer.silentMs),
  ]);
  const heads = ['Peer', 'In flight', 'News delay', 'Silent for'];
  const state = connected
    ? `${id} has been connected to NATS for ${duration(sinceMs)}, with ${count(open)} request${open === 1 ? '' : 's'} of its own in flight.`
    : `${id} has had no connection to NATS for ${duration(sinceMs)}: it decides by what it knows itself.`;
  return h(
    TableCard,
    { title: 'Replicas', heads, rows },
    h('p', { class: connected ? 'hint' : 'bad' }, state),
  );
}
