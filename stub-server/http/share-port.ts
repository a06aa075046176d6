import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:tls';
import type { KeyPair } from '../../src/runtime/network/server/self-signed-certificate.ts';

/** How a client of HTTP/2 begins that knows the protocol beforehand, as gRPC does. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n');
/** A client that says nothing is left to the HTTP/1.1 server, which has a limit for it. */
const UNDECIDED_MS = 5000;

type Accept = (socket: Socket) => void;

/** What takes the connections of each protocol. */
interface Protocols {
  readonly http1: Accept;
  readonly http2: Accept;
}

/** Creates a server that gives each connection to the protocol in which its client begins. */
export function sharePort(protocols: Protocols): Server {
  return createServer({ noDelay: true }, (socket) => {
    const drop = (): void => void socket.destroy();
    socket.on('error', drop);
    socket.setTimeout(UNDECIDED_MS);
    const decide = (): void => {
      const begin = (socket.read() as Buffer | null) ?? Buffer.alloc(0);
      const isHttp2 = begin.subarray(0, PREFACE.length).equals(PREFACE.subarray(0, begin.length));
      // A shorter beginning could become either.
      if (isHttp2 && begin.length < PREFACE.length && !socket.readableEnded && begin.length > 0) {
        socket.unshift(begin);
        socket.once('readable', decide);
        return;
      }
      socket.off('timeout', give);
      give(isHttp2 && begin.length > 0, begin);
    };
    const give = (isHttp2: unknown, begin?: Buffer): void => {
      socket.setTimeout(0);
      socket.off('readable', decide);
      socket.off('error', drop);
      if (begin !== undefined && begin.length > 0) socket.unshift(begin);
      (isHttp2 === true ? protocols.http2 : protocols.http1)(socket);
    };
    socket.once('timeout', give);
    socket.once('readable', decide);
  });
}

/**
 * Serves both protocols on one port with TLS, where clients say in the handshake which they speak.
 * One that speaks both gets HTTP/1.1: HTTP/2 is for gRPC alone, whose clients speak nothing else.
 */
export function shareSecurePort({ http1, http2 }: Protocols, { cert, key }: KeyPair): SecureServer {
  const ALPNCallback = ({ protocols }: { readonly protocols: readonly string[] }) =>
    ['http/1.1', 'h2'].find((each) => protocols.includes(each));
  const options = { cert, key, ALPNCallback, noDelay: true };
  return createSecureServer(options, (socket) =>
    (socket.alpnProtocol === 'h2' ? http2 : http1)(socket),
  );
}
