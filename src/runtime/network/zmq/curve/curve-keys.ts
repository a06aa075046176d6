import { readFollowed } from '../../../../files/following/read-followed.ts';
import type { CurveFiles } from '../../../../framework/runtime.ts';
import { type CurvePair, newPair, pairOf } from './curve-box.ts';

export type CurveSide = 'client' | 'server';

/** The keys of one side. The side that connects knows the other one's public key. */
export type CurveKeys =
  | { readonly side: 'server'; readonly pair: CurvePair }
  | { readonly side: 'client'; readonly pair: CurvePair; readonly serverKey: Uint8Array };

const Z85 = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
/** 32 bytes in Z85. */
const KEY_TEXT = 40;

/**
 * Reads keys for a socket. One that listens is the server and needs a certificate. One that
 * connects needs the server's public key; without a certificate of its own it makes a new pair.
 * Throws an Error that names the file.
 */
export function readCurveKeys({ certPath, serverKeyPath }: CurveFiles, side: CurveSide): CurveKeys {
  if (side === 'server') return { side, pair: pairOf(readKey(certPath ?? '', 'secret-key')) };
  const serverKey = readKey(serverKeyPath ?? '', 'public-key');
  const pair = certPath === undefined ? newPair() : pairOf(readKey(certPath, 'secret-key'));
  return { side, pair, serverKey };
}

/**
 * A key of a certificate as `zmq.auth.create_certificates` of pyzmq writes it, or of a file with a
 * key alone.
 */
function readKey(path: string, name: 'public-key' | 'secret-key'): Uint8Array {
  const text = readFollowed(path).toString('utf8');
  const line = new RegExp(`^\\s*${name}\\s*=\\s*"(.*)"\\s*$`, 'm').exec(text);
  const key = fromZ85(line?.[1] ?? text.trim());
  if (key !== undefined) return key;
  throw new Error(`${path} has no ${name}: a CURVE certificate, or a key of 40 characters in Z85`);
}

/** Five characters stand for four bytes; undefined for a text that is no key. */
function fromZ85(text: string): Uint8Array | undefined {
  if (text.length !== KEY_TEXT) return undefined;
  const bytes = Buffer.alloc((KEY_TEXT / 5) * 4);
  for (let at = 0; at < KEY_TEXT; at += 5) {
    let value = 0;
    for (const character of text.slice(at, at + 5)) {
      const digit = Z85.indexOf(character);
      if (digit < 0) return undefined;
      value = value * 85 + digit;
    }
    if (value > 0xffff_ffff) return undefined;
    bytes.writeUInt32BE(value, (at / 5) * 4);
  }
  return bytes;
}
