import { randomBytes, randomInt } from 'node:crypto';

/** A seed for `seededRandom` that differs from call to call. */
export function randomSeed(): number {
  return randomInt(2 ** 31);
}

/** A new secret for keyed hashes: 128 random bits. */
export function randomSecret(): Uint32Array {
  return new Uint32Array(new Uint8Array(randomBytes(16)).buffer);
}
