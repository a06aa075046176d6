import type { RoutingError } from '../../../framework/error.ts';
import type { Clock } from '../../../framework/runtime.ts';
import { decodeRequest } from '../../codec/decode-request.ts';
import type { StreamAction } from '../../codec/stream-action.ts';
import type { CloseReason, StreamEvent } from '../../codec/stream-event.ts';
import type { Http2Stream, StreamHandler } from '../../http2/stream.ts';
import type { Session } from '../../session/session.ts';
import type { ByteAccount } from '../../streams/byte-account.ts';
import type { OpenStreams } from '../../streams/open-streams.ts';
import type { StreamAccount, StreamOwner, StreamPhase } from '../../streams/stream-account.ts';
import { AnswerWriter } from './answer-writer.ts';
import { GRPC } from './grpc.ts';
import { FramingError, MessageReader } from './message-reader.ts';
import { decompressed, ProcessCall, startDeadline } from './process-call.ts';
import { type StreamTimes, StreamWatch } from './stream-times.ts';

export type NewSession = (
  emit: (action: StreamAction) => void,
  account: ByteAccount,
  traceparent: string | undefined,
) => Pick<
  Session,
  'on' | 'closed' | 'refuse' | 'phase' | 'waits' | 'clientRequestId' | 'answerCut'
>;

/** A peer that streams bodies may have sent so much of a message. */
const PART_BYTES_MAX = 64 * 1024;

interface RunOptions {
  readonly newSession: NewSession;
  readonly streams: OpenStreams;
  /** The largest message that is taken, and sent. */
  readonly receivedBytesMax: number;
  readonly sentBytesMax: number;
  readonly clock: Clock;
  /** Undefined where it is not used. */
  readonly times: StreamTimes | undefined;
}

/** Runs a session on a stream until the stream closes. A stream too many only gets its refusal. */
export function runSession(
  stream: Http2Stream,
  options: RunOptions,
  onClosed: () => void,
): StreamHandler {
  const running = new RunningSession(stream, options);
  const deadline = startDeadline(stream.headers, options.clock, () => running.expire());
  const close = (reason: CloseReason): void => {
    if (running.close(reason)) onClosed();
  };
  return {
    data: running.onPiece,
    kept: (bytes) => running.account.kept(bytes),
    ended: () =>
      running.onceAnswered(() => {
        close('ended');
        running.writer.end();
      }),
    closed: () => {
      deadline?.cancel();
      close('cancelled');
      running.writer.closed();
    },
  };
}

/** A stream with the session that answers it. */
class RunningSession implements StreamOwner {
  readonly account: StreamAccount;
  readonly writer: AnswerWriter;
  readonly session: ReturnType<NewSession>;
  readonly #call: ProcessCall;
  readonly #reader: MessageReader;
  readonly #encoding: string | undefined;
  readonly #receivedBytesMax: number;
  readonly #streams: OpenStreams;
  /** The refusal of a stream that is one too many; undefined for any other. */
  readonly #tooMany: RoutingError | undefined;
  readonly #watch: StreamWatch | undefined;
  #onAnswered: (() => void) | undefined;
  #reset = false;
  #closed = false;

  constructor(
    stream: Http2Stream,
    { newSession, streams, receivedBytesMax, sentBytesMax, clock, times }: RunOptions,
  ) {
    this.#call = new ProcessCall(stream, sentBytesMax);
    this.#encoding = stream.headers.get('grpc-encoding');
    this.#receivedBytesMax = receivedBytesMax;
    this.#streams = streams;
    const now = clock.now();
    this.account = streams.open(this, now);
    this.#reader = new MessageReader(receivedBytesMax, streams.blocks);
    const watch = times && new StreamWatch(times, clock, now);
    this.#watch = watch;
    this.#tooMany = streams.tooMany();
    this.writer = new AnswerWriter(this.#call, this.account);
    const emit = (action: StreamAction): void => {
      watch?.answering();
      if (this.#onAnswered !== undefined) stream.afterTurn(this.#onAnswered);
      this.#onAnswered = undefined;
      if (action.kind === 'half-close') this.writer.end();
      else this.writer.write(action);
    };
    const traceparent = stream.headers.get('traceparent');
    this.session = newSession(emit, this.account, traceparent);
  }

  get phase(): StreamPhase {
    return this.#reset ? 'refused' : this.session.phase;
  }

  answerCut(): void {
    this.session.answerCut();
  }

  /** Bytes of a message that is not complete are kept, too. */
  readonly onPiece = (piece: Buffer): boolean => {
    let used = false;
    if (this.#call.cancelled) return used;
    this.account.received(piece.length);
    const reader = this.#reader;
    this.#watch?.pieceBegins();
    reader.push(piece);
    try {
      for (let bytes = reader.next(); bytes !== undefined; bytes = reader.next()) {
        const event = this.#decoded(bytes);
        const usedLater = isUsedLater(event, bytes);
        used ||= usedLater && bytes.buffer === piece.buffer;
        if (event.kind === 'response-headers') this.#watch?.responseBegins();
        this.account.delivered(event.wireBytes);
        if (this.#tooMany !== undefined) this.refuse(this.#tooMany);
        else this.session.on(event);
        if (event.kind === 'request-headers') this.#nameAccount();
        reader.handled(usedLater ? 'used' : 'free');
      }
    } catch (error) {
      if (!(error instanceof FramingError)) throw error;
      reader.handled('free');
      this.#call.fail(error.status, error.message);
    }
    this.#watch?.pieceEnds();
    return used;
  };

  #nameAccount(): void {
    const id = this.session.clientRequestId;
    if (id !== undefined) this.account.named(id);
  }

  /** Runs at once, or where a pick has to wait, in the turn after it has been answered. */
  onceAnswered(task: () => void): void {
    if (this.session.waits) this.#onAnswered = task;
    else task();
  }

  refuse(error: RoutingError): void {
    if (this.#closed || this.phase === 'refused') return;
    this.#streams.countRefusal(error.code);
    // The refusal would wait behind the answers that have not been sent.
    this.writer.abandon();
    // A peer that takes no answers takes no refusal either.
    if (this.writer.blocked || !this.session.refuse(error)) this.reset();
    // The beginning of a large message is freed with the stream only, once the refusal has left.
    else if (this.account.undeliveredBytes > PART_BYTES_MAX) setImmediate(() => this.reset());
  }

  reset(): void {
    this.#reset = true;
    this.#call.reset();
  }

  /** The caller's time is over. */
  expire(): void {
    this.#call.fail(GRPC.deadlineExceeded, 'Deadline exceeded');
  }

  /** False where it has been closed before. */
  close(reason: CloseReason): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.session.closed(reason);
    this.#reader.close();
    this.account.close();
    this.#watch?.closed(reason);
    return true;
  }

  #decoded(bytes: Buffer): StreamEvent {
    try {
      if (!this.#reader.compressed) return decodeRequest(bytes);
      return decodeRequest(decompressed(bytes, this.#encoding, this.#receivedBytesMax));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new FramingError(GRPC.internal, `Error deserializing request: ${error.message}`);
    }
  }
}

/** Whether a session may need the memory of a message after it has handled its event. */
function isUsedLater(event: StreamEvent, { buffer }: Buffer): boolean {
  // A message that was compressed is a copy in other memory.
  if (event.kind === 'response-body') return event.chunk.buffer === buffer;
  // The headers of a response are read later where the pick has to wait.
  return event.kind === 'response-headers';
}
