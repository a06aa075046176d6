import type { SecureVersion, Server, TLSSocket } from 'node:tls';
import { loadTls } from '../../../runtime/modules/node-modules.ts';
import { boundHandshakes } from './bound-handshakes.ts';

/** A certificate with its chain, and its key, both as PEM. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface TlsContext extends Certificate {
  /** Clients must have a certificate of one of these authorities, as PEM. */
  readonly clientCa?: Buffer | undefined;
  readonly minVersion?: SecureVersion | undefined;
  /** OpenSSL's names, separated by colons. */
  readonly ciphers?: string | undefined;
}

/** A client that is slower than this, or silent, loses its connection. */
const HANDSHAKE_TIMEOUT_MS = 10_000;

/** TLS whose certificate and authorities can be replaced while connections are open. */
export class TlsCredentials {
  #context: TlsContext;
  readonly #servers = new Set<Server>();
  readonly #followers: ((context: TlsContext) => void)[] = [];

  constructor(context: TlsContext) {
    this.#context = context;
  }

  /**
   * New connections use this; open ones go on. Sessions are not resumed across it: a client whose
   * authority has been removed must show a certificate again. Whether clients must have a
   * certificate cannot change.
   */
  replace(context: TlsContext): void {
    this.#context = context;
    for (const server of this.#servers) server.setSecureContext(secureContext(context));
    for (const follower of this.#followers) follower(context);
  }

  get context(): TlsContext {
    return this.#context;
  }

  /** Calls back with each context that replaces another. */
  follow(follower: (context: TlsContext) => void): void {
    this.#followers.push(follower);
  }

  /** A server for HTTP/2 that uses this as long as it is open. */
  createServer(onConnection: (socket: TLSSocket) => void): Server {
    const requestCert = this.#context.clientCa !== undefined;
    const server = loadTls().createServer(
      {
        ...secureContext(this.#context),
        ALPNProtocols: ['h2'],
        requestCert,
        rejectUnauthorized: requestCert,
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      },
      onConnection,
    );
    boundHandshakes(server);
    this.#servers.add(server);
    server.once('close', () => this.#servers.delete(server));
    return server;
  }
}

function secureContext({ cert, key, clientCa, minVersion, ciphers }: TlsContext) {
  return {
    cert,
    key,
    ...(clientCa && { ca: clientCa }),
    ...(minVersion && { minVersion }),
    ...(ciphers !== undefined && { ciphers }),
  };
}
