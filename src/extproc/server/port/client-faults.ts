import type { TLSSocket } from 'node:tls';

/** What is wrong with a client that cannot use the port. */
export type ClientFaultKind =
  /** It does not begin with a TLS handshake, as with plaintext HTTP/2. */
  | 'plaintext-to-tls'
  /** It does not begin as HTTP/2 does in plaintext, perhaps with a TLS handshake. */
  | 'no-plaintext-http2'
  | 'no-certificate'
  /** An authority that is not trusted here, or a certificate that is not valid now. */
  | 'untrusted-certificate'
  /** The client does not accept the picker's certificate. */
  | 'certificate-refused'
  /** No version or cipher suite that both have, or a broken handshake. */
  | 'handshake';

export interface ClientFault {
  readonly kind: ClientFaultKind;
  /** The code of the library; empty where there is none. */
  readonly code: string;
  /** The address of the client; undefined if it is gone. */
  readonly from: string | undefined;
}

/** Undefined for a client that only connects and leaves, such as a probe of the port. */
export function tlsFault(
  { code = '' }: NodeJS.ErrnoException,
  { authorizationError, remoteAddress: from }: TLSSocket,
): ClientFault | undefined {
  // Set where a certificate was judged, although the types say it is always there.
  const judged = authorizationError as unknown as string | null | undefined;
  if (judged) return { kind: 'untrusted-certificate', code: String(judged), from };
  if (code === 'ECONNRESET') return undefined;
  return { kind: kindOf(code), code, from };
}

function kindOf(code: string): ClientFaultKind {
  if (code === 'ERR_SSL_HTTP_REQUEST' || code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return 'plaintext-to-tls';
  }
  if (code === 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE') return 'no-certificate';
  if (/ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE)/.test(code)) return 'certificate-refused';
  return 'handshake';
}
