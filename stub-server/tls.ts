import { createSecureContext, type Server } from 'node:tls';
import { followFiles } from '../src/files/following/follow-files.ts';
import { readFollowed } from '../src/files/following/read-followed.ts';
import { ConfigError, messageOf } from '../src/framework/error.ts';
import { createLog } from '../src/runtime/log/log.ts';
import {
  type KeyPair,
  selfSignedCertificate,
} from '../src/runtime/network/server/self-signed-certificate.ts';
import type { StubOptions } from './options/stub-options.ts';

/** The certificate of a pool's servers. */
export interface PoolTls {
  readonly pair: KeyPair;
  /** Gives a server every later certificate of the files. */
  follow(server: Server): void;
  stop(): Promise<void>;
}

/**
 * Reads the certificate, or makes one that the server signs itself. Files are followed: a valid
 * change counts for new connections; an invalid one is logged, and the last valid one stays. Throws
 * ConfigError.
 */
export async function startTls(tls: StubOptions['tls']): Promise<PoolTls | undefined> {
  if (tls === undefined) return undefined;
  if (tls === 'self-signed') {
    const pair = await selfSignedCertificate('pointsman-stub');
    return { pair, follow: () => undefined, stop: () => Promise.resolve() };
  }
  const { certFile, keyFile } = tls;
  const servers: Server[] = [];
  let pair = readPair(certFile, keyFile);
  const log = createLog('warn');
  const files = followFiles([certFile, keyFile], {
    first: pair,
    read: () => readPair(certFile, keyFile),
    use: (next) => {
      pair = next;
      for (const server of servers) server.setSecureContext(pair);
    },
    onRefused: (error) => log.warn({ certFile, error }, 'certificate refused; the last one stays'),
    onUnwatched: (error) =>
      log.warn(
        { certFile, error: messageOf(error) },
        'the certificate cannot be watched; it is looked at once a second',
      ),
  });
  return {
    get pair() {
      return pair;
    },
    follow: (server) => void servers.push(server),
    stop: () => files.stop(),
  };
}

function readPair(certFile: string, keyFile: string): KeyPair {
  try {
    const pair = { cert: readFollowed(certFile), key: readFollowed(keyFile) };
    // Throws where the key is not the certificate's.
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const message = `is no certificate with the key of ${keyFile}: ${messageOf(error)}`;
    throw new ConfigError('ssl-certfile', [{ path: certFile, message }]);
  }
}
