import { Server, ServerCredentials, type ServerOptions, setLogger } from '@grpc/grpc-js';
import { ListenError } from '../../runtime/network/listen.ts';
import { selfSignedCertificate } from '../../runtime/network/self-signed-certificate.ts';
import { TlsCredentials } from './tls-credentials.ts';

/**
 * Envoy resets nearly every stream once it needs nothing more. Node takes that for the rapid-reset
 * attack and closes the connection after 1,000 at once or 33 a second: far fewer than one carries.
 */
const RESETS_MAX = 1_000_000_000;

/** A line that gRPC prints although it also returns the error, which the caller reports better. */
const REPORTED_BY_CALLER = /^No address added out of total \d+ resolved$/;

export function newGrpcServer(options: ServerOptions): Server {
  setLogger({
    error: (line: unknown, ...more: readonly unknown[]) => {
      if (typeof line === 'string' && REPORTED_BY_CALLER.test(line)) return;
      console.error(line, ...more);
    },
  });
  const server = new Server(options);
  // grpc-js has no option for these; it passes this object to http2.createServer.
  const { commonServerOptions } = server as unknown as {
    readonly commonServerOptions: Record<string, unknown>;
  };
  commonServerOptions['streamResetBurst'] = RESETS_MAX;
  commonServerOptions['streamResetRate'] = RESETS_MAX;
  return server;
}

/** Listens and returns the port. Throws ListenError. */
export function bind(
  server: Server,
  host: string,
  port: number,
  credentials: ServerCredentials,
): Promise<number> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new ListenError(address, error));
    });
  });
}

export async function credentialsFor(
  tls: TlsCredentials | 'self-signed' | 'plaintext',
): Promise<ServerCredentials> {
  if (tls === 'plaintext') return ServerCredentials.createInsecure();
  return tls === 'self-signed' ? new TlsCredentials(await selfSignedCertificate()) : tls;
}
