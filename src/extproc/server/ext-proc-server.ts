import { randomBytes } from 'node:crypto';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { selfSignedCertificate } from '../../runtime/network/server/self-signed-certificate.ts';
import { ObserverSession, type ObserverSessionOptions } from '../session/observer-session.ts';
import { Session, type SessionOptions } from '../session/session.ts';
import { OpenStreams, type StreamsElsewhere, type StreamUsage } from '../streams/open-streams.ts';
import { UploadWatch } from '../streams/upload-watch.ts';
import { accessLogMethods } from './calls/access-log-service.ts';
import { type Method, serveMethods } from './calls/grpc.ts';
import { type NewSession, runSession } from './calls/run-session.ts';
import type { StreamTimes } from './calls/stream-times.ts';
import { Health } from './health/health.ts';
import { type HealthPortOptions, startHealthListener } from './health/health-port.ts';
import type { ClientFault } from './port/client-faults.ts';
import { Listener } from './port/listener.ts';
import { receivedBytesMax, type ServerLimits } from './port/server-limits.ts';
import { TlsCredentials } from './port/tls-credentials.ts';
import { shutDown } from './shut-down.ts';

/** Session options without those that the server sets. */
type FromCaller<T> = Omit<T, 'newRequestId'>;

export interface ExtProcServerOptions extends HealthPortOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Several threads of this process listen at the port, and the system spreads connections. */
  readonly sharesPort?: boolean;
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
  /** Streams of other threads of this process, which have the same limits. */
  readonly elsewhere?: StreamsElsewhere | undefined;
  /** Gets what each stream took. */
  readonly times?: StreamTimes | undefined;
}

export interface DrainTimes {
  /** New streams are accepted for so long: gateways send them until they have noticed. */
  readonly noticeMs: number;
  /**
   * After that, streams that are open have so long to end; then those whose answers have not begun
   * are refused, and the others cut.
   */
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
  const { process, streams, idle } = processMethod(options);
  const accessLog = accessLogMethods({
    blocks: streams.blocks,
    onCut: (requestId) => streams.answerCut(requestId),
  });
  const listener = new Listener({
    ...options,
    tls: await credentialsFor(options.tls),
    onStream: serveMethods(new Map([...health.methods, ...accessLog, [PROCESS_PATH, process]])),
  });
  await listener.listen();
  const healthListener = await startHealthListener(options, health).catch((error: unknown) => {
    void listener.close();
    throw error;
  });
  const watch = new UploadWatch(streams, options.limits, options.clock);
  return {
    port: listener.port,
    healthPort: healthListener?.port,
    sessions: () => streams.count,
    usage: () => streams.usage(),
    setServing: (serving) => health.setServing(serving),
    drain: async ({ noticeMs, deadlineMs }) => {
      const { clock } = options;
      health.setServing(false);
      await passed(noticeMs, clock);
      await shutDown(listener, { deadlineMs, idle: idle(), streams, clock });
      watch.stop();
      void healthListener?.close();
      healthListener?.cut();
    },
  };
}

function passed(ms: Millis, clock: Clock): Promise<void> {
  return ms > 0 ? new Promise((resolve) => clock.setTimer(ms, resolve)) : Promise.resolve();
}

async function credentialsFor(
  tls: ExtProcServerOptions['tls'],
): Promise<TlsCredentials | 'plaintext'> {
  return tls === 'self-signed' ? new TlsCredentials(await selfSignedCertificate()) : tls;
}

function processMethod({
  limits,
  elsewhere,
  messageBytesMax,
  session,
  clock,
  times,
}: ExtProcServerOptions): {
  readonly process: Method;
  readonly streams: OpenStreams;
  /** Resolves as soon as no stream is open. */
  readonly idle: () => Promise<void>;
} {
  const prefix = randomBytes(6).toString('hex');
  let requests = 0;
  const newRequestId = (): string => `${prefix}-${(requests++).toString(36)}`;
  const streams = new OpenStreams(limits, elsewhere);
  const run = {
    newSession: sessionFactory(session, newRequestId),
    streams,
    receivedBytesMax: receivedBytesMax(messageBytesMax, limits),
    sentBytesMax: limits.sentBytesMax ?? Number.POSITIVE_INFINITY,
    clock,
    times,
  };
  const { idle, onClosed } = idleOf(streams);
  return { process: (stream) => runSession(stream, run, onClosed), streams, idle };
}

/** `onClosed` is called after each stream. */
function idleOf(streams: Pick<OpenStreams, 'count'>): {
  readonly idle: () => Promise<void>;
  readonly onClosed: () => void;
} {
  let onIdle = (): void => undefined;
  return {
    idle: () =>
      new Promise((resolve) => {
        if (streams.count === 0) resolve();
        else onIdle = resolve;
      }),
    onClosed: () => {
      if (streams.count === 0) onIdle();
    },
  };
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
