import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/** A secret of this length cannot be guessed. */
const TAG_BYTES = 16;
const SECRET_WORDS = 4;

/** Marks messages with the key that all replicas have, so that others cannot send any. */
export class Seal {
  /** Made once: from bytes, each mark would make it anew. */
  readonly #key: KeyObject;

  constructor(key: Uint8Array) {
    this.#key = createSecretKey(key);
  }

  /** A copy of the message with its mark. */
  close(message: Uint8Array): Uint8Array {
    const sealed = new Uint8Array(message.length + TAG_BYTES);
    sealed.set(message);
    sealed.set(this.#tagOf(message), message.length);
    return sealed;
  }

  /** The message without its mark; undefined where the mark is not that of the key. */
  open(sealed: Uint8Array): Uint8Array | undefined {
    const length = sealed.length - TAG_BYTES;
    if (length < 0) return undefined;
    const message = sealed.subarray(0, length);
    return timingSafeEqual(this.#tagOf(message), sealed.subarray(length)) ? message : undefined;
  }

  #tagOf(message: Uint8Array): Uint8Array {
    return createHmac('sha256', this.#key).update(message).digest().subarray(0, TAG_BYTES);
  }
}

/**
 * The secret of prompt hashes that all replicas of a subject have. Without a key it follows from
 * the subject, which is no secret.
 */
export function hashSecretOf(key: Uint8Array | undefined, subject: string): Uint32Array {
  const digest = createHmac('sha256', key ?? 'no key')
    .update(`hashes of ${subject}`)
    .digest();
  return Uint32Array.from({ length: SECRET_WORDS }, (_, at) => digest.readUInt32LE(4 * at));
}
