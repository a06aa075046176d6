import type { Millis } from '../framework/runtime.ts';
import type { SentCounts } from './outgoing/outbox.ts';
import type { PeerStatus, ReceivedCounts } from './peers/peer-status.ts';

/** The state of sharing, as `/debug/replicas` shows it. Counts are since the start. */
export interface ReplicaStatus {
  readonly id: string;
  readonly connected: boolean;
  /** For so long it has been connected, or not. */
  readonly sinceMs: Millis;
  /** This picker's requests that have not ended. */
  readonly open: number;
  readonly sent: SentCounts;
  readonly received: ReceivedCounts;
  readonly peers: readonly PeerStatus[];
}
