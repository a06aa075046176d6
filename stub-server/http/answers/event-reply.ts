import type { ServerResponse } from 'node:http';
import type { SequenceUsage } from '../../engine/sequence.ts';
import { beginEventStream } from '../replica/api-error.ts';
import type { Answer } from './plan-answer.ts';
import { type PieceOptions, TokenPieces } from './token-pieces.ts';

/** An event of an answer; its `type` is also the name of the server-sent event. */
export interface ServerEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** An API whose answers are events of several types, and never more than one answer. */
export interface EventFormat {
  /** Sent when the request is accepted, long before the first token. */
  accepted(): readonly ServerEvent[];
  /** Sent before the text of the first token. */
  opening(promptTokens: number): readonly ServerEvent[];
  text(text: string): ServerEvent;
  closing(usage: SequenceUsage, kvTransfer: object | undefined): readonly ServerEvent[];
  failure(message: string): ServerEvent;
}

interface EventReplyParts extends Pick<PieceOptions, 'lateMs'> {
  readonly response: ServerResponse;
  readonly answer: Answer;
  readonly promptTokens: number;
}

/** An answer as server-sent events of an API's own types. */
export class EventReply {
  readonly #format: EventFormat;
  readonly #parts: EventReplyParts;
  readonly #pieces: TokenPieces;

  constructor(format: EventFormat, parts: EventReplyParts) {
    const { response, answer, lateMs } = parts;
    this.#format = format;
    this.#parts = parts;
    this.#pieces = new TokenPieces(answer, { behind: () => response.writableNeedDrain, lateMs });
    beginEventStream(response);
    this.#write(format.accepted());
  }

  /** `count` tokens are generated now. */
  token(_index: number, count: number): void {
    const piece = this.#pieces.next(count);
    if (piece === undefined) return;
    const { first, tokens } = piece;
    const opening = first ? this.#format.opening(this.#parts.promptTokens) : [];
    this.#write([...opening, this.#format.text(tokens.join(''))]);
  }

  end(usage: SequenceUsage, kvTransfer: object | undefined): void {
    this.#write(this.#format.closing(usage, kvTransfer));
    this.#parts.response.end();
  }

  fail(message: string): void {
    this.#write([this.#format.failure(message)]);
    this.#parts.response.end();
  }

  #write(events: readonly ServerEvent[]): void {
    if (events.length === 0) return;
    const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    this.#parts.response.write(lines.join(''));
  }
}
