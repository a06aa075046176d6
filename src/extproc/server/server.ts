import { randomBytes } from 'node:crypto';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { Clock } from '../../framework/runtime.ts';
import { ObserverSession, type ObserverSessionOptions } from '../session/observer-session.ts';
import { Session, type SessionOptions } from '../session/session.ts';
import { OpenStreams, type StreamUsage } from '../streams/open-streams.ts';
import { UploadWatch } from '../streams/upload-watch.ts';
import { channelOptions, receivedBytesMax } from './channel-options.ts';
import { type ClientFault, reportClientFaults } from './client-faults.ts';
import { bind, credentialsFor, newGrpcServer } from './grpc-server.ts';
import { Health } from './health.ts';
import { type NewSession, runSession } from './run-session.ts';
import type { ServerLimits } from './server-limits.ts';
import { shutDown } from './shut-down.ts';
import type { StreamTimes } from './stream-times.ts';
import { takeStreams } from './take-streams.ts';
import type { TlsCredentials } from './tls-credentials.ts';

/** Session options without those that the server sets. */
type FromCaller<T> = Omit<T, 'newRequestId'>;

export interface ExtProcServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  /** A second port that serves only health; undefined opens none. */
  readonly healthPort?: number | undefined;
  readonly tls: TlsCredentials | 'self-signed' | 'plaintext';
  /** Called for a client that fails before its first stream. */
  readonly onClientFault?: (fault: ClientFault) => void;
  /** Decides the requests; as `observer`, only watches the decisions of another picker. */
  readonly session:
    | FromCaller<SessionOptions>
    | { readonly observer: FromCaller<ObserverSessionOptions> };
  /** Largest message accepted: in BUFFERED mode a body is one message. */
  readonly messageBytesMax: number;
  readonly limits: ServerLimits;
  readonly clock: Clock;
  /** Gets what each stream took. */
  readonly times?: StreamTimes | undefined;
}

export interface DrainTimes {
  /** So long new streams are accepted: gateways send them until they have noticed. */
  readonly noticeMs: number;
  /** After that, streams that are open have so long to end, and are cut then. */
  readonly deadlineMs: number;
}

export interface ExtProcServer {
  readonly port: number;
  readonly healthPort: number | undefined;
  sessions(): number;
  usage(): StreamUsage;
  setServing(serving: boolean): void;
  /** Reports NOT_SERVING at once, and goes on as before until gateways must have noticed. */
  drain(times: DrainTimes): Promise<void>;
}

const PROCESS_PATH = '/envoy.service.ext_proc.v3.ExternalProcessor/Process';

/** Serves ext_proc: decodes messages for sessions and encodes their answers. */
export async function startExtProcServer(options: ExtProcServerOptions): Promise<ExtProcServer> {
  const health = new Health();
  const server = newGrpcServer(channelOptions(options.messageBytesMax, options.limits));
  health.addTo(server);
  const credentials = await credentialsFor(options.tls);
  const port = await bind(server, options.host, options.port, credentials);
  const { streams, idle } = serveProcess(server, options);
  if (options.onClientFault !== undefined) reportClientFaults(server, options.onClientFault);
  const healthServer = await startHealthServer(options, health).catch((error: unknown) => {
    server.forceShutdown();
    throw error;
  });
  const watch = new UploadWatch(streams, options.limits, options.clock);
  return {
    port,
    healthPort: healthServer?.port,
    sessions: () => streams.count,
    usage: () => streams.usage(),
    setServing: (serving) => health.setServing(serving),
    drain: async ({ noticeMs, deadlineMs }) => {
      health.setServing(false);
      await new Promise<void>((resolve) => {
        if (noticeMs > 0) options.clock.setTimer(noticeMs, resolve);
        else resolve();
      });
      await shutDown(server, { deadlineMs, idle: idle() });
      watch.stop();
      healthServer?.stop();
    },
  };
}

/** Call it after the server is bound. */
function serveProcess(
  server: Server,
  { limits, messageBytesMax, session, clock, times }: ExtProcServerOptions,
): { readonly streams: OpenStreams; readonly idle: () => Promise<void> } {
  const prefix = randomBytes(6).toString('hex');
  let requests = 0;
  const newRequestId = (): string => `${prefix}-${(requests++).toString(36)}`;
  const streams = new OpenStreams(limits);
  const run = {
    newSession: sessionFactory(session, newRequestId),
    streams,
    receivedBytesMax: receivedBytesMax(messageBytesMax, limits),
    sentBytesMax: limits.sentBytesMax ?? Number.POSITIVE_INFINITY,
    clock,
    times,
  };
  let onIdle = (): void => undefined;
  const onClosed = (): void => {
    if (streams.count === 0) onIdle();
  };
  takeStreams(server, {
    path: PROCESS_PATH,
    onCall: (stream, headers) => runSession(stream, headers, run, onClosed),
  });
  const idle = (): Promise<void> =>
    new Promise((resolve) => {
      if (streams.count === 0) resolve();
      else onIdle = resolve;
    });
  return { streams, idle };
}

function sessionFactory(
  options: ExtProcServerOptions['session'],
  newRequestId: () => string,
): NewSession {
  if ('observer' in options) {
    const observer = { ...options.observer, newRequestId };
    return (emit) => new ObserverSession(observer, emit);
  }
  const own = { ...options, newRequestId };
  return (emit, account, traceparent) => new Session(own, emit, account, traceparent);
}

async function startHealthServer(
  { host, healthPort, limits }: ExtProcServerOptions,
  health: Health,
): Promise<{ readonly port: number; stop(): void } | undefined> {
  if (healthPort === undefined) return undefined;
  const server = newGrpcServer(channelOptions(0, limits));
  health.addTo(server);
  const port = await bind(server, host, healthPort, ServerCredentials.createInsecure());
  return { port, stop: () => server.forceShutdown() };
}
