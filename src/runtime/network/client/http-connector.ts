import type { buildConnector } from 'undici';
import type { HttpTls } from '../../../framework/runtime.ts';
import { loadUndici } from '../../modules/load-packages.ts';
import { trustNamedAuthorities } from './named-authorities.ts';
import type { OutgoingFiles } from './outgoing-files.ts';

/** After this long the next request connects again, which finds a restarted server. */
const CONNECT_TIMEOUT_MS = 2000;

/**
 * Connects to a server, over TLS with verification unless `tls` says otherwise. Files are read for
 * each connection, so a replaced certificate counts from the next one.
 */
export function httpConnector(
  tls: HttpTls | undefined,
  files: OutgoingFiles,
): buildConnector.connector {
  const fixed = {
    timeout: CONNECT_TIMEOUT_MS,
    rejectUnauthorized: tls?.insecureSkipVerify !== true,
  };
  const { caPath, certPath, keyPath, serverName } = tls ?? {};
  const { buildConnector: connectorFor } = loadUndici();
  const plain = connectorFor(fixed);
  const hasFiles = [caPath, certPath, keyPath].some((path) => path !== undefined);
  return (options, callback) => {
    if (options.protocol === 'https:') trustNamedAuthorities();
    let connect = plain;
    try {
      if (hasFiles)
        connect = connectorFor({ ...fixed, ...files.read({ caPath, certPath, keyPath }) });
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
      return;
    }
    connect(serverName === undefined ? options : { ...options, servername: serverName }, callback);
  };
}

const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'the certificate is for other names: give one of them as serverName, or insecureSkipVerify: true',
  ],
  [
    /^(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(?:VERIFY|GET_ISSUER)/,
    'the certificate’s authority is not trusted: give it as caCertPath, or insecureSkipVerify: true',
  ],
  [/^CERT_HAS_EXPIRED$/, 'the server needs a new certificate'],
  [/^ERR_SSL_WRONG_VERSION_NUMBER$|^ERR_SSL_HTTP/, 'the server does not use TLS: write http'],
  [/CERTIFICATE_REQUIRED$|HANDSHAKE_FAILURE$/, 'the server may demand clientCertPath'],
];

/** Says what is wrong with a TLS connection that failed and what to do; undefined for others. */
export function tlsFailure(error: Error): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  const found = code === undefined ? undefined : ADVICE.find(([codes]) => codes.test(code));
  // The library's own text names flags of Node, or files of OpenSSL.
  return found === undefined ? undefined : `${found[1]} (${code})`;
}
