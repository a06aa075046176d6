import { open, seal } from './curve-box.ts';
import type { CurveAgreed } from './curve-handshake.ts';
import type { CurveSide } from './curve-keys.ts';

const NAME: Buffer = Buffer.concat([Buffer.of(7), Buffer.from('MESSAGE')]);
const NONCE_NAMES: Readonly<Record<CurveSide, Buffer>> = {
  client: Buffer.from('CurveZMQMESSAGEC'),
  server: Buffer.from('CurveZMQMESSAGES'),
};
const NONCE_BYTES = 8;

/** One frame as it was before it was encrypted. */
export interface CurveFrame {
  readonly more: boolean;
  readonly isCommand: boolean;
  readonly body: Uint8Array;
}

/** The frames of a connection after its handshake, each in a box. */
export class CurveTraffic {
  readonly #agreed: CurveAgreed;

  constructor(agreed: CurveAgreed) {
    this.#agreed = agreed;
  }

  /** The body of the frame to send for one. */
  sealed({ more, isCommand, body }: CurveFrame): Uint8Array {
    const { key, nonces, side } = this.#agreed;
    const nonce = nonces.next();
    const flags = Buffer.of((more ? 1 : 0) | (isCommand ? 2 : 0));
    const box = seal(key, Buffer.concat([NONCE_NAMES[side], nonce]), Buffer.concat([flags, body]));
    return Buffer.concat([NAME, nonce, box]);
  }

  /**
   * The frame in what follows `MESSAGE`. Throws for what the peer has not sealed, or has sent
   * before.
   */
  opened(data: Uint8Array): CurveFrame {
    const { key, nonces, side } = this.#agreed;
    const nonce = nonces.taken(data.subarray(0, NONCE_BYTES));
    const from = NONCE_NAMES[side === 'client' ? 'server' : 'client'];
    const box = data.subarray(NONCE_BYTES);
    const text = open(key, Buffer.concat([from, nonce]), box);
    const [flags] = text;
    if (flags === undefined || flags > 3) throw new Error('a CURVE message has no valid flags');
    return { more: (flags & 1) !== 0, isCommand: (flags & 2) !== 0, body: text.subarray(1) };
  }
}
