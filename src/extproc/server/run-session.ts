import type { EventEmitter } from 'node:events';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { RoutingError } from '../../framework/error.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import type { CloseReason, StreamEvent } from '../codec/stream-event.ts';
import type { Session } from '../session/session.ts';
import type { ByteAccount } from '../streams/byte-account.ts';
import type {
  OpenStreams,
  StreamAccount,
  StreamOwner,
  StreamPhase,
} from '../streams/open-streams.ts';
import { type Answer, type AnswerStream, AnswerWriter } from './answer-writer.ts';
import { type CallStream, releaseStreamOnClose } from './release-stream.ts';
import { type Destroyable, suppressResetStack } from './suppress-reset-stack.ts';

export type Stream = ServerDuplexStream<StreamEvent, Answer>;

export type NewSession = (
  emit: (action: StreamAction) => void,
  account: ByteAccount,
) => Pick<Session, 'on' | 'closed' | 'refuse' | 'phase'>;

/** The HTTP/2 stream below a gRPC stream. */
interface Http2Stream extends EventEmitter, Destroyable {
  close(code: number): void;
}

/** HTTP/2's error code CANCEL. */
const CANCEL = 8;
/** As much of a message as a peer that streams bodies may have sent. */
const PART_BYTES_MAX = 64 * 1024;

interface RunOptions {
  readonly newSession: NewSession;
  readonly streams: OpenStreams;
  readonly now: Millis;
}

/** Runs a session on a stream until the stream closes. A stream too many only gets its refusal. */
export function runSession(stream: Stream, options: RunOptions, onClosed: () => void): void {
  // grpc-js does not declare the call below the stream; its version is pinned and tests use it.
  const answers = stream as unknown as AnswerStream & CallStream;
  const http2 = answers.call.stream as unknown as Http2Stream;
  suppressResetStack(http2);
  const running = new RunningSession(answers, http2, options);
  const { account, writer } = running;
  const tooMany = options.streams.tooMany();
  const close = (reason: CloseReason): void => {
    if (running.close(reason)) onClosed();
  };
  releaseStreamOnClose(http2, answers, () => close('ended'));
  // Frames of a message that is not complete are kept, too.
  http2.on('data', (frame: Buffer) => account.received(frame.length));
  stream.on('data', (event: StreamEvent) => {
    account.delivered(event.wireBytes);
    if (tooMany === undefined) running.session.on(event);
    else running.refuse(tooMany);
  });
  stream.on('end', () => {
    close('ended');
    writer.end();
  });
  stream.on('cancelled', () => close('cancelled'));
  stream.on('error', () => close('failed'));
  stream.on('close', () => close('ended'));
}

/** A stream with the session that answers it. */
class RunningSession implements StreamOwner {
  readonly account: StreamAccount;
  readonly writer: AnswerWriter;
  readonly session: ReturnType<NewSession>;
  readonly #http2: Http2Stream;
  readonly #streams: OpenStreams;
  #reset = false;
  #closed = false;

  constructor(answers: AnswerStream, http2: Http2Stream, { newSession, streams, now }: RunOptions) {
    this.#http2 = http2;
    this.#streams = streams;
    this.account = streams.open(this, now);
    this.writer = new AnswerWriter(answers, (task) => process.nextTick(task), this.account);
    this.session = newSession((action) => {
      if (action.kind === 'half-close') this.writer.end();
      else this.writer.write(action);
    }, this.account);
  }

  get phase(): StreamPhase {
    return this.#reset ? 'refused' : this.session.phase;
  }

  refuse(error: RoutingError): void {
    if (this.#closed || this.phase === 'refused') return;
    this.#streams.countRefusal(error.code);
    // Before the refusal, which would wait behind them.
    this.writer.abandon();
    // A peer that takes no answers takes no refusal either.
    if (this.writer.blocked || !this.session.refuse(error)) this.reset();
    // The beginning of a large message is freed with the stream only, once the refusal has left.
    else if (this.account.undeliveredBytes > PART_BYTES_MAX) setImmediate(() => this.reset());
  }

  reset(): void {
    this.#reset = true;
    this.#http2.close(CANCEL);
  }

  /** False where it has been closed before. */
  close(reason: CloseReason): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.session.closed(reason);
    this.account.close();
    return true;
  }
}
