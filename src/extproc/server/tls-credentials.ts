import type { SecureVersion } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';

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
export class TlsCredentials extends ServerCredentials {
  constructor(context: TlsContext) {
    const requestCert = context.clientCa !== undefined;
    const handshake = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
    super({ requestCert, rejectUnauthorized: requestCert, ...handshake }, secureContext(context));
  }

  /**
   * New connections use this; open ones go on. Sessions are not resumed across it: a client whose
   * authority has been removed must show a certificate again. Whether clients must have a
   * certificate cannot change.
   */
  replace(context: TlsContext): void {
    this.updateSecureContextOptions(secureContext(context));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
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
