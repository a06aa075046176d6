import { readFollowed } from '../../../files/following/read-followed.ts';
import type { CurveFiles } from '../../../framework/runtime.ts';

/** The options of a ZMQ socket that uses CURVE. */
export interface CurveOptions {
  readonly curveServer?: boolean;
  readonly curveServerKey?: string;
  readonly curvePublicKey?: string;
  readonly curveSecretKey: string;
}

/** 32 bytes in Z85. */
const KEY = /^[0-9a-zA-Z.\-:+=^!/*?&<>()[\]{}@%$#]{40}$/;

/**
 * Reads keys for a socket. One that listens is the server and needs a certificate. One that connects
 * needs the server's public key; without a certificate of its own it makes a new pair. Throws an Error
 * that names the file.
 */
export function readCurveKeys(
  { certPath, serverKeyPath }: CurveFiles,
  { bind, newPair }: { readonly bind: boolean; readonly newPair: () => CurvePair },
): CurveOptions {
  if (bind) {
    const path = certPath ?? '';
    return { curveServer: true, curveSecretKey: readKey(path, 'secret-key') };
  }
  const curveServerKey = readKey(serverKeyPath ?? '', 'public-key');
  if (certPath === undefined) {
    const { publicKey, secretKey } = newPair();
    return { curveServerKey, curvePublicKey: publicKey, curveSecretKey: secretKey };
  }
  return {
    curveServerKey,
    curvePublicKey: readKey(certPath, 'public-key'),
    curveSecretKey: readKey(certPath, 'secret-key'),
  };
}

interface CurvePair {
  readonly publicKey: string;
  readonly secretKey: string;
}

/** A key of a certificate as `zmq.auth.create_certificates` of pyzmq writes it, or of a file with a key alone. */
function readKey(path: string, name: 'public-key' | 'secret-key'): string {
  const text = readFollowed(path).toString('utf8');
  const line = new RegExp(`^\\s*${name}\\s*=\\s*"(.*)"\\s*$`, 'm').exec(text);
  const key = line?.[1] ?? text.trim();
  if (KEY.test(key)) return key;
  throw new Error(`${path} has no ${name}: a CURVE certificate, or a key of 40 characters in Z85`);
}
