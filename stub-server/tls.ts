import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import { watchFile } from '../src/files/watch-file.ts';
import { ConfigError, messageOf } from '../src/framework/error.ts';
import { createLog } from '../src/runtime/log.ts';
import type { StubOptions } from './options/stub-options.ts';

interface KeyPair {
  readonly cert: Buffer | string;
  readonly key: Buffer | string;
}

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
    return { pair: await selfSigned(), follow: () => undefined, stop: () => Promise.resolve() };
  }
  const { certFile, keyFile } = tls;
  const servers: Server[] = [];
  let pair = readPair(certFile, keyFile);
  const log = createLog('warn');
  const onChange = (): void => {
    try {
      pair = readPair(certFile, keyFile);
      for (const server of servers) server.setSecureContext(pair);
    } catch (error) {
      log.warn({ certFile, error: messageOf(error) }, 'certificate refused; the last one stays');
    }
  };
  const onError = (error: unknown): void =>
    log.warn({ certFile, error: messageOf(error) }, 'the certificate cannot be watched');
  const watches = [certFile, keyFile].map((path) => watchFile(path, { onChange, onError }));
  return {
    get pair() {
      return pair;
    },
    follow: (server) => void servers.push(server),
    stop: async () => void (await Promise.all(watches.map((watch) => watch.stop()))),
  };
}

function readPair(certFile: string, keyFile: string): KeyPair {
  try {
    const pair = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    // Throws where the key is not the certificate's.
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const message = `is no certificate with the key of ${keyFile}: ${messageOf(error)}`;
    throw new ConfigError('ssl-certfile', [{ path: certFile, message }]);
  }
}

async function selfSigned(): Promise<KeyPair> {
  // Loaded only where it is used.
  const { generate } = await import('selfsigned');
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'pointsman-stub' }], {
    keySize: 2048,
    algorithm: 'sha256',
  });
  return { cert, key };
}
