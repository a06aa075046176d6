import type { EventEmitter } from 'node:events';
import type { ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Server } from '@grpc/grpc-js';

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
  /** The code of the library. */
  readonly code: string;
  /** The address of the client; undefined if it is gone. */
  readonly from: string | undefined;
}

type OnClientFault = (fault: ClientFault) => void;

/** nghttp2: "bad client magic byte string". */
const BAD_PREFACE = -903;

/** Reports clients that fail before their first stream. Call it after the server is bound. */
export function reportClientFaults(server: Server, onFault: OnClientFault): void {
  // grpc-js does not show its servers; its version is pinned and tests use this.
  const { http2Servers } = server as unknown as {
    readonly http2Servers: ReadonlyMap<EventEmitter, unknown>;
  };
  for (const http2 of http2Servers.keys()) {
    http2.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
      const fault = tlsFault(error, socket);
      if (fault !== undefined) onFault(fault);
    });
    // A session that failed no longer knows its client.
    const addresses = new WeakMap<ServerHttp2Session, string | undefined>();
    http2.on('session', (session: ServerHttp2Session) => {
      addresses.set(session, session.socket.remoteAddress);
    });
    http2.on('sessionError', (error: NodeJS.ErrnoException, session: ServerHttp2Session) => {
      if (error.errno !== BAD_PREFACE) return;
      const from = addresses.get(session);
      onFault({ kind: 'no-plaintext-http2', code: error.code ?? '', from });
    });
  }
}

/** Undefined for a client that only connects and leaves, such as a probe of the port. */
function tlsFault(
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
