/** Types of frames (RFC 9113, section 6). */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flags of frames. `ack` is that of SETTINGS and PING, `endStream` that of DATA and HEADERS. */
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Length (3 bytes), type, flags, stream (4 bytes). */
export const HEAD_BYTES = 9;
/**
 * The largest payload of a frame that a peer may send without being asked, and the one asked for.
 */
export const FRAME_BYTES_MAX = 16_384;
/** The window of a connection, and of each stream, before settings. */
export const FIRST_WINDOW_BYTES = 65_535;
/**
 * The window of each stream that the server announces: most bodies fit into it, so that no further
 * frame is sent for them.
 */
export const STREAM_WINDOW_BYTES: number = 2 ** 20;
/** No window may become larger. */
export const WINDOW_BYTES_MAX: number = 2 ** 31 - 1;
/** What a client sends first. */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
