import { ConnectionError, HTTP2 } from './errors.ts';
import { FIRST_WINDOW_BYTES, FRAME_BYTES_MAX, WINDOW_BYTES_MAX } from './frames.ts';

/** Settings by their numbers (RFC 9113, section 6.5.2). */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const SETTING_BYTES = 6;
const FRAME_BYTES_LIMIT = 2 ** 24 - 1;

/** The settings of the peer: what this side may send it. */
export class PeerSettings {
  windowBytes: number = FIRST_WINDOW_BYTES;
  frameBytesMax: number = FRAME_BYTES_MAX;

  /** The payload of a SETTINGS frame. Throws ConnectionError for values that are not allowed. */
  read(payload: Buffer): void {
    if (payload.length % SETTING_BYTES !== 0) {
      throw new ConnectionError(HTTP2.frameSizeError, `SETTINGS of ${payload.length} bytes`);
    }
    for (let at = 0; at < payload.length; at += SETTING_BYTES) {
      this.#one(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
  }

  /** What is not for a server, or not known, is ignored, as the RFC demands. */
  #one(setting: number, value: number): void {
    if (setting === SETTING.enablePush) {
      allow(value <= 1, 'ENABLE_PUSH', value, HTTP2.protocolError);
    } else if (setting === SETTING.initialWindowSize) {
      allow(value <= WINDOW_BYTES_MAX, 'INITIAL_WINDOW_SIZE', value, HTTP2.flowControlError);
      this.windowBytes = value;
    } else if (setting === SETTING.maxFrameSize) {
      const allowed = value >= FRAME_BYTES_MAX && value <= FRAME_BYTES_LIMIT;
      allow(allowed, 'MAX_FRAME_SIZE', value, HTTP2.protocolError);
      this.frameBytesMax = value;
    }
  }
}

function allow(allowed: boolean, name: string, value: number, code: number): void {
  if (!allowed) throw new ConnectionError(code, `the setting ${name} must not be ${value}`);
}
