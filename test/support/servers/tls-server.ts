import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { Registry } from 'prom-client';
import {
  endCall,
  type Method,
  respond,
  serveMethods,
} from '../../../src/extproc/server/calls/grpc.ts';
import { Listener } from '../../../src/extproc/server/port/listener.ts';
import { limitsFor } from '../../../src/extproc/server/port/server-limits.ts';
import { SimulatedClock } from '../../../src/runtime/clock/simulated-clock.ts';
import type { Log } from '../../../src/runtime/log/log.ts';
import { startTls, type TlsOptions } from '../../../src/serve/tls/start-tls.ts';

/** A line of the log. */
export interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface TlsServer {
  readonly port: number;
  readonly lines: readonly Line[];
  /** The value of a metric, of the series with this label value if one is given. */
  metric(name: string): Promise<number | undefined>;
  readonly clock: SimulatedClock;
  /** Why the files of the certificate are refused. */
  readonly lastError: () => string | undefined;
  /** Why clients refuse the certificate. */
  readonly invalidity: () => string | undefined;
  stop(): Promise<void>;
}

/** A gRPC server with TLS as the flags say; its one method answers a stream byte by byte. */
export async function startTlsServer(options: Partial<TlsOptions>): Promise<TlsServer> {
  const lines: Line[] = [];
  const log = logInto(lines);
  const registry = new Registry();
  const clock = new SimulatedClock({ epoch: Date.now() });
  const parts = { registry, clock, log };
  const tls = await startTls({ insecure: false, certPath: undefined, ...options }, parts);
  const listener = new Listener({
    host: '127.0.0.1',
    port: 0,
    tls: tls.credentials,
    limits: { ...limitsFor(2 ** 30), keepaliveTimeMs: 0 },
    clock,
    onStream: serveMethods(new Map([['/t/Echo', echo]])),
    onClientFault: tls.onClientFault,
  });
  await listener.listen();
  const metric = async (name: string): Promise<number | undefined> => {
    const [bare = '', outcome] = name.split(' ');
    const { values } = (await registry.getSingleMetric(bare)?.get()) ?? { values: [] };
    return values.find(
      ({ labels }) => outcome === undefined || Object.values(labels).includes(outcome),
    )?.value;
  };
  const stop = async (): Promise<void> => {
    const closed = listener.close();
    listener.cut();
    await closed;
    await tls.stop();
  };
  const { lastError, invalidity } = tls;
  return { port: listener.port, lines, metric, clock, lastError, invalidity, stop };
}

function logInto(lines: Line[]): Log {
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...fields } });
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
}

const echo: Method = (stream) => ({
  data: (piece) => {
    respond(stream);
    stream.send([piece], () => undefined);
    return true;
  },
  ended: () => endCall(stream, 0, ''),
  closed: () => undefined,
});

/**
 * The name in the server's certificate, or the error of the client; with a version in the options
 * also the version and the suite in use.
 */
export function shake(port: number, options: ConnectionOptions = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect(
      { host: '127.0.0.1', port, ALPNProtocols: ['h2'], ...options },
      () => {
        // With TLS 1.3 a server judges the client's certificate after this; its settings frame
        // shows that it has accepted it.
        const resumed = socket.isSessionReused();
        const name = resumed ? 'resumed' : String(socket.getPeerCertificate().subject.CN);
        const using = `${name} ${socket.getProtocol()} ${socket.getCipher().standardName}`;
        socket.once('data', () => {
          socket.destroy();
          resolve(options.minVersion || options.maxVersion ? using : name);
        });
      },
    );
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve('closed'));
  });
}
