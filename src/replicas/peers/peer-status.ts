import type { Millis } from '../../framework/runtime.ts';
import type { PeerCounts } from './peer.ts';

export interface ReceivedCounts {
  readonly messages: number;
  readonly bytes: number;
  /** Messages that could not be read, and those of another version. */
  readonly malformed: number;
  readonly otherVersions: number;
  /** Messages without the mark of our key. */
  readonly forged: number;
  /** Messages beyond what is taken in a second, for which the subject was left. */
  readonly flooded: number;
  /** Messages of another process with the id of this one. */
  readonly sameId: number;
  readonly refusedPeers: number;
  readonly peersGone: number;
  /** Blocks of prompts that another replica has sent at the start. */
  readonly prefixBlocks: number;
}

export interface PeerStatus extends Readonly<PeerCounts> {
  readonly id: string;
  /** The time since its last message. */
  readonly silentMs: Millis;
  /** How long its last message took, by the clocks of both machines. */
  readonly lagMs: Millis;
  /** Its requests that are booked here. */
  readonly open: number;
}

/** What an operator should know. */
export type ReplicaNotice =
  | { readonly kind: 'connected' }
  | { readonly kind: 'disconnected'; readonly reason: string }
  | { readonly kind: 'joined'; readonly peer: string }
  | {
      readonly kind: 'left';
      readonly peer: string;
      readonly reason: 'silent' | 'restarted' | 'ended';
    }
  /** Another process has the id of this one: neither sees what the other does. */
  | { readonly kind: 'same-id'; readonly peer: string }
  /** It claims many more requests than the endpoint reports: they do not count for a while. */
  | { readonly kind: 'doubted'; readonly peer: string; readonly address: string }
  | { readonly kind: 'unreadable'; readonly reason: string }
  /** The connection is there, and messages do not pass it. */
  | { readonly kind: 'refused'; readonly reason: string };
