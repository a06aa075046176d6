import type { Millis } from '../../framework/runtime.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { AnswerEnd, AnswerExchange, AnswerHooks } from './answer-exchange.ts';

/** A request as it goes out. */
export interface PreparedRequest {
  readonly model: string;
  /** UTF-8 that needs no escape in JSON. */
  readonly prompt: Buffer;
  readonly outputTokens: number;
  /** Sent beside it as `x-session-id`. */
  readonly session?: string | undefined;
}

export type SendRequest = (
  request: PreparedRequest,
  hooks: AnswerHooks,
) => Pick<AnswerExchange, 'cancel'>;

/** What became of one request. Times count from when it was due: a late sender must not flatter the answer. */
export interface Sent {
  /** A turn that waited has the time it was due at. */
  readonly request: TraceRequest;
  /** How late it left us. */
  readonly lateMs: Millis;
  /** NaN if no token came. */
  ttftMs: Millis;
  /** NaN where it was never sent. */
  e2eMs: Millis;
  /** `refused` was never sent, for there were too many under way. */
  end: AnswerEnd | 'refused' | 'under way';
}
