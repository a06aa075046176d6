/**
 * The short nonces of one connection: each is larger than the one before it, in both directions.
 */
export class Nonces {
  #sent = 0n;
  #taken = 0n;

  /** The next one of ours, eight bytes. */
  next(): Uint8Array {
    this.#sent += 1n;
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64BE(this.#sent);
    return bytes;
  }

  /** Returns a nonce of the peer. Throws where it is not larger than the last one: a replay. */
  taken(bytes: Uint8Array): Uint8Array {
    if (bytes.length !== 8) throw new Error('it sends a CURVE command that is cut short');
    const nonce = Buffer.from(bytes).readBigUInt64BE();
    if (nonce <= this.#taken) throw new Error('it uses a CURVE nonce again');
    this.#taken = nonce;
    return bytes;
  }
}
