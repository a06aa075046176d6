import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { loadSalsa } from '../../../modules/load-packages.ts';

/** Keys of Curve25519. */
export interface CurvePair {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  readonly secretKey: KeyObject;
}

const KEY_BYTES = 32;
/** What stands before a key of X25519 in DER. */
const PRIVATE: Buffer = Buffer.from('302e020100300506032b656e04220420', 'hex');
const PUBLIC: Buffer = Buffer.from('302a300506032b656e032100', 'hex');
let salsa: ReturnType<typeof loadSalsa> | undefined;
const ciphers = (): ReturnType<typeof loadSalsa> => (salsa ??= loadSalsa());
/** The constant of Salsa20. */
const SIGMA: Uint32Array = words(Buffer.from('expand 32-byte k'));

export function newPair(): CurvePair {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  return { publicKey: bytesOf(publicKey), secretKey: privateKey };
}

/** The pair of a secret key of 32 bytes. */
export function pairOf(secret: Uint8Array): CurvePair {
  const der = Buffer.concat([PRIVATE, secret]);
  const secretKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { publicKey: bytesOf(createPublicKey(secretKey)), secretKey };
}

function bytesOf(publicKey: KeyObject): Uint8Array {
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(-KEY_BYTES);
}

/**
 * The key of boxes between two pairs, as crypto_box of NaCl has it. Throws for a public key that
 * makes it known to everyone.
 */
export function boxKey(secretKey: KeyObject, publicKey: Uint8Array): Uint8Array {
  const der = Buffer.concat([PUBLIC, publicKey]);
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  const out = new Uint32Array(KEY_BYTES / 4);
  const shared = words(diffieHellman({ privateKey: secretKey, publicKey: key }));
  ciphers().hsalsa(SIGMA, shared, new Uint32Array(4), out);
  return bytesOfWords(out);
}

export function seal(key: Uint8Array, nonce: Uint8Array, text: Uint8Array): Uint8Array {
  return ciphers().xsalsa20poly1305(key, nonce).encrypt(text);
}

/** Throws where the box was not made with this key and nonce. */
export function open(key: Uint8Array, nonce: Uint8Array, box: Uint8Array): Uint8Array {
  try {
    return ciphers().xsalsa20poly1305(key, nonce).decrypt(box);
  } catch {
    throw new Error('a CURVE box cannot be opened: the keys of both sides do not match');
  }
}

/** Little-endian, on every machine. */
function words(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(4 * at, true));
}

function bytesOfWords(from: Uint32Array): Uint8Array {
  const bytes = Buffer.alloc(4 * from.length);
  for (const [at, word] of from.entries()) bytes.writeUInt32LE(word, 4 * at);
  return bytes;
}
