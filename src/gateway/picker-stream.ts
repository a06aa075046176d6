import { once } from 'node:events';
import type { CutAnswers } from './cut-answers.ts';
import type { ExchangeLimits } from './exchange-limits.ts';
import type { ExtProcStream, ProcessingRequest, ProcessingResponse } from './ext-proc-client.ts';

interface PickerStreamOptions {
  /** The `x-request-id` of its request. */
  readonly requestId: string;
  readonly cutAnswers: CutAnswers;
  readonly limits: ExchangeLimits;
  /** Aborted at the end of the exchange. */
  readonly signal: AbortSignal;
  readonly onAnswer: (answer: ProcessingResponse) => void;
  /** `onAnswer` has thrown. */
  readonly onUnusable: (error: unknown) => void;
  readonly onFailed: (error: Error) => void;
  readonly onEnded: () => void;
}

/**
 * The picker's side of one request: no more is sent than it takes, no more is read than can be
 * passed on, and its time limit runs only while it has something to do.
 */
export class PickerStream {
  /**
   * It has ended its stream and gets nothing any more: the rest of the response does not pass it.
   */
  hasLeft = false;
  /** Whether the endpoint has broken off its answer, which the picker learns at the end. */
  answerIsCut = false;
  readonly #stream: ExtProcStream;
  readonly #options: PickerStreamOptions;

  constructor(stream: ExtProcStream, options: PickerStreamOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on('data', (answer: ProcessingResponse) => this.#take(answer));
    stream.on('error', options.onFailed);
    stream.on('end', options.onEnded);
  }

  /** Sends the first message. */
  open(message: ProcessingRequest): void {
    this.#stream.write(message);
  }

  /** Resolves when it takes more, or the exchange ends. */
  async write(message: ProcessingRequest): Promise<void> {
    const { limits, signal } = this.#options;
    if (signal.aborted || this.hasLeft || this.#stream.write(message)) return;
    limits.pickerAsked('drain');
    // Rejects when the exchange ends.
    await once(this.#stream, 'drain', { signal }).catch(() => undefined);
    limits.pickerAnswered('drain');
  }

  /** Reads no more from it while a receiver has enough to do. */
  pauseUntilDrained(receiver: NodeJS.EventEmitter, onDrained: () => void): void {
    const { limits, signal } = this.#options;
    this.#stream.pause();
    receiver.once('drain', () => {
      onDrained();
      this.#stream.resume();
      if (!signal.aborted) limits.awaitPicker();
    });
  }

  /** Ends this side of the stream: the picker gets no further message. */
  end(): void {
    this.#stream.end();
  }

  cancel(): void {
    const { cutAnswers, requestId } = this.#options;
    const cancel = (): void => this.#stream.cancel();
    // Without a stream it knows of no such request.
    if (this.answerIsCut && !this.hasLeft) void cutAnswers.report(requestId).then(cancel);
    else cancel();
  }

  #take(answer: ProcessingResponse): void {
    const { limits, signal, onAnswer, onUnusable } = this.#options;
    if (signal.aborted) return;
    try {
      onAnswer(answer);
      if (signal.aborted) return;
      if (this.#stream.isPaused()) limits.pausePicker();
      else limits.awaitPicker();
    } catch (error) {
      onUnusable(error);
    }
  }
}
