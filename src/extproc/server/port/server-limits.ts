import type { UploadLimits } from '../../streams/upload-watch.ts';

/** What one ext_proc server allows gateways and their clients. */
export interface ServerLimits extends UploadLimits {
  /** Bytes of bodies kept for all streams together. Past it, requests get 429. */
  readonly heldBytesMax: number;
  /** Streams open at once. A further one gets 503. */
  readonly streamsMax: number;
  /** Connections at once. A further one ends an old one without a request, if there is one. */
  readonly connectionsMax: number;
  /** A connection that has been open so long is asked for a sign of life; 0 never asks. */
  readonly keepaliveTimeMs: number;
  /** A connection whose peer does not answer that within so long is closed, with its streams. */
  readonly keepaliveTimeoutMs: number;
  /** The largest message of a peer. Where left out: room for the largest body. */
  readonly messageBytesMax?: number | undefined;
  /** The largest message to a peer; undefined: any. */
  readonly sentBytesMax?: number | undefined;
}

/** Room for the message around a body of the largest size. */
const MESSAGE_OVERHEAD_BYTES = 64 * 1024;

/** The largest message that is taken, where bodies have at most so many bytes. */
export function receivedBytesMax(bodyBytesMax: number, limits: ServerLimits): number {
  return limits.messageBytesMax ?? bodyBytesMax + MESSAGE_OVERHEAD_BYTES;
}

export const DEFAULT_LIMITS: Omit<ServerLimits, 'heldBytesMax' | 'connectionsMax' | 'streamsMax'> =
  {
    // Longer than a mobile client without a connection for a moment.
    uploadIdleTimeoutMs: 30_000,
    // 64 MB at 1.8 Mbit/s.
    uploadTimeoutMs: 300_000,
    // A gateway host that vanishes holds its reservations for 20 s at most.
    keepaliveTimeMs: 10_000,
    keepaliveTimeoutMs: 10_000,
  };

/** The rest is left to streams, the prefix index, the endpoints and the collector. */
const HELD_SHARE = 1 / 4;
/** Where memory is short: the process without any request, and garbage beside what is kept. */
const PROCESS_BYTES = 256 * 2 ** 20;
const BYTES_PER_HELD_BYTE = 2.5;
const HELD_SHARE_MIN = 1 / 16;
const STREAMS_SHARE = 1 / 2;
/**
 * What an open stream costs without its body, rounded up: `npm run bench -- survive idle-streams`.
 */
const STREAM_BYTES = 48 * 1024;
const CONNECTIONS_SHARE = 1 / 8;
/** One that has sent most of the headers of a request, and no end of them. */
const CONNECTION_BYTES = 160 * 1024;
/** 16 gateways with 16 threads each open so many. */
const CONNECTIONS_MIN = 256;

/** The limits for a process that may use so much memory. */
export function limitsFor(memoryBytes: number): ServerLimits {
  const heldBytes = Math.min(
    memoryBytes * HELD_SHARE,
    (memoryBytes - PROCESS_BYTES) / BYTES_PER_HELD_BYTE,
  );
  return {
    ...DEFAULT_LIMITS,
    heldBytesMax: Math.floor(Math.max(heldBytes, memoryBytes * HELD_SHARE_MIN)),
    connectionsMax: Math.max(
      CONNECTIONS_MIN,
      Math.floor((memoryBytes * CONNECTIONS_SHARE) / CONNECTION_BYTES),
    ),
    streamsMax: Math.floor((memoryBytes * STREAMS_SHARE) / STREAM_BYTES),
  };
}
