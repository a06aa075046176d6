import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { ListenError } from '../../runtime/listen-error.ts';
import { decodeRequest } from '../codec/decode-request.ts';
import { encodeResponse } from '../codec/encode-response.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import type { CloseReason, StreamEvent } from '../codec/stream-event.ts';
import { ObserverSession, type ObserverSessionOptions } from '../session/observer-session.ts';
import { Session, type SessionOptions } from '../session/session.ts';
import { type Answer, type AnswerStream, AnswerWriter } from './answer-writer.ts';
import { Health } from './health.ts';
import { quietGrpc } from './quiet-grpc.ts';
import { type CallStream, releaseStreamOnClose } from './release-stream.ts';
import { type Certificate, selfSignedCertificate } from './grpc-server.ts';
import { type Destroyable, suppressResetStack } from './suppress-reset-stack.ts';

/** What `T` is but for what the server brings. */
type Handling<T> = Omit<T, 'newRequestId'>;

export interface ExtProcServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** A second port with only the health service; none when undefined. */
  readonly healthPort?: number | undefined;
  readonly tls: Certificate | 'self-signed' | 'plaintext';
  /** Requests are decided here, or, as `observer`, by another picker and only looked at. */
  readonly session:
    | Handling<SessionOptions>
    | { readonly observer: Handling<ObserverSessionOptions> };
  /** Largest message taken: in BUFFERED mode a whole body comes as one. */
  readonly messageBytesMax: number;
}

export interface ExtProcServer {
  readonly port: number;
  readonly healthPort: number | undefined;
  /** Streams open now. */
  sessions(): number;
  setServing(serving: boolean): void;
  /** NOT_SERVING at once, no new streams, and those open get `deadlineMs` to finish before they are cut. */
  drain(deadlineMs: number): Promise<void>;
}

/**
 * Envoy resets nearly every stream once it needs nothing more. Node takes that for the rapid-reset attack and closes
 * the connection after 1,000 resets at once or 33 a second; one proxy connection carries thousands of requests a
 * second, so the limits are set where no honest proxy gets.
 */
const RESETS_MAX = 1_000_000_000;

/** Room for the message around a body of the largest size. */
const MESSAGE_OVERHEAD_BYTES = 64 * 1024;

/** For the last answers to leave and connections to be closed in peace. */
const LAST_ANSWERS_MS = 200;

type Stream = ServerDuplexStream<StreamEvent, Answer>;

/** Serves ext_proc: bytes to sessions and back. What a session decides is in `session.ts`. */
export async function startExtProcServer(options: ExtProcServerOptions): Promise<ExtProcServer> {
  quietGrpc();
  const health = new Health();
  const server = newServer(options.messageBytesMax);
  health.addTo(server);
  const prefix = randomBytes(6).toString('hex');
  let requests = 0;
  let open = 0;
  let onIdle = (): void => undefined;
  const newRequestId = (): string => `${prefix}-${(requests++).toString(36)}`;
  const newSession = sessionsOf(options.session, newRequestId);
  server.addService(
    {
      Process: {
        path: '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
        requestStream: true,
        responseStream: true,
        requestSerialize: () => Buffer.alloc(0),
        requestDeserialize: decodeRequest,
        // Encoded when it is sent, straight into the frame: grpc-js asks only this much of a Buffer.
        responseSerialize: (answer: Answer) => encodeResponse(answer) as Buffer,
        responseDeserialize: (bytes: Buffer) => bytes,
      },
    },
    {
      Process: (stream: Stream) => {
        open += 1;
        runSession(stream, newSession, () => {
          open -= 1;
          if (open === 0) onIdle();
        });
      },
    },
  );
  const credentials = await credentialsOf(options.tls);
  const port = await bind(server, options.host, options.port, credentials);
  const healthServer = await startHealthServer(options, health).catch((error: unknown) => {
    server.forceShutdown();
    throw error;
  });
  return {
    port,
    healthPort: healthServer?.port,
    sessions: () => open,
    setServing: (serving) => health.setServing(serving),
    drain: async (deadlineMs) => {
      health.setServing(false);
      const idle = new Promise<void>((resolve) => {
        if (open === 0) resolve();
        else onIdle = resolve;
      });
      await shutDown(server, { deadlineMs, idle });
      healthServer?.stop();
    },
  };
}

type NewSession = (emit: (action: StreamAction) => void) => Pick<Session, 'on' | 'closed'>;

function sessionsOf(
  options: ExtProcServerOptions['session'],
  newRequestId: () => string,
): NewSession {
  if ('observer' in options) {
    const observer = { ...options.observer, newRequestId };
    return (emit) => new ObserverSession(observer, emit);
  }
  const own = { ...options, newRequestId };
  return (emit) => new Session(own, emit);
}

function runSession(stream: Stream, newSession: NewSession, onClosed: () => void): void {
  let closed = false;
  // The call below the stream is grpc-js's own affair; the answers' test and the pinned version hold us to it.
  const answers = stream as unknown as AnswerStream & CallStream;
  const http2 = answers.call.stream as unknown as Destroyable & EventEmitter;
  suppressResetStack(http2);
  const writer = new AnswerWriter(answers, (task) => process.nextTick(task));
  const session = newSession((action) => {
    if (action.kind === 'half-close') writer.end();
    else writer.write(action);
  });
  const close = (reason: CloseReason): void => {
    if (closed) return;
    closed = true;
    session.closed(reason);
    onClosed();
  };
  releaseStreamOnClose(http2, answers, () => close('ended'));
  stream.on('data', (event: StreamEvent) => session.on(event));
  stream.on('end', () => {
    close('ended');
    writer.end();
  });
  stream.on('cancelled', () => close('cancelled'));
  stream.on('error', () => close('failed'));
  stream.on('close', () => close('ended'));
}

function newServer(messageBytesMax: number): Server {
  const server = new Server({
    'grpc.max_receive_message_length': messageBytesMax + MESSAGE_OVERHEAD_BYTES,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': 0x7fff_ffff,
  });
  // grpc-js has no option for these; it hands this object to http2.createServer, with and without TLS.
  const { commonServerOptions } = server as unknown as {
    readonly commonServerOptions: Record<string, unknown>;
  };
  commonServerOptions['streamResetBurst'] = RESETS_MAX;
  commonServerOptions['streamResetRate'] = RESETS_MAX;
  return server;
}

async function credentialsOf(tls: ExtProcServerOptions['tls']): Promise<ServerCredentials> {
  if (tls === 'plaintext') return ServerCredentials.createInsecure();
  const { cert, key } = tls === 'self-signed' ? await selfSignedCertificate() : tls;
  return ServerCredentials.createSsl(null, [{ cert_chain: cert, private_key: key }]);
}

function bind(
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

async function startHealthServer(
  { host, healthPort }: ExtProcServerOptions,
  health: Health,
): Promise<{ readonly port: number; stop(): void } | undefined> {
  if (healthPort === undefined) return undefined;
  const server = newServer(MESSAGE_OVERHEAD_BYTES);
  health.addTo(server);
  const port = await bind(server, host, healthPort, ServerCredentials.createInsecure());
  return { port, stop: () => server.forceShutdown() };
}

/** Someone who watches our health holds a connection open for ever: once no request is left, it is cut. */
function shutDown(
  server: Server,
  { deadlineMs, idle }: { readonly deadlineMs: number; readonly idle: Promise<void> },
): Promise<void> {
  return new Promise((resolve) => {
    const force = (): void => {
      clearTimeout(deadline);
      server.forceShutdown();
      resolve();
    };
    const deadline = setTimeout(force, deadlineMs);
    void idle.then(() => setTimeout(force, Math.min(LAST_ANSWERS_MS, deadlineMs)));
    server.tryShutdown(() => {
      clearTimeout(deadline);
      resolve();
    });
  });
}
