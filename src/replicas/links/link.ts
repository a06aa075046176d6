/** Carries messages between replicas. It may lose, repeat and reorder them. */
export interface ReplicaLink {
  /**
   * To all other replicas, or to one. The bytes are read before this returns. False where the
   * message is not sent: there is no connection, or too much waits already.
   */
  send(message: Uint8Array, to?: string): boolean;
  /** Disconnects until `resume`, without a call of `onDisconnected`. */
  pause(): void;
  resume(): void;
  close(): Promise<void>;
}

/** What a link calls. A message is valid during the call. */
export interface LinkEvents {
  onMessage(message: Uint8Array): void;
  onConnected(): void;
  /** A message of so many bytes was not taken: its sender does not have the key. */
  onForged(bytes: number): void;
  /** The connection stays, and some or all messages do not pass. The reason says what to change. */
  onRefused?(reason: string): void;
  /** Nothing is sent or received from now on, until `onConnected`. */
  onDisconnected(reason: string): void;
}

/** Opens the link of the replica with this id. It connects, and connects again, by itself. */
export type OpenReplicaLink = (id: string, events: LinkEvents) => ReplicaLink;
