import type { Millis } from '../../framework/runtime.ts';

/** Without an event for so long, this process may have stood still. */
const STANDSTILL_MS: Millis = 1000;
/** What has come meanwhile is read no sooner than in this time. */
const READ_MS: Millis = 500;

/** Knows from the events of requests how late this process may be itself. */
export class OwnDelay {
  #eventAt: Millis = Number.NEGATIVE_INFINITY;
  #beganAt: Millis = Number.NEGATIVE_INFINITY;
  #endedAt: Millis = Number.NEGATIVE_INFINITY;
  /** Whether a request has been answered that was sent since. */
  #hasAnswers = false;
  #answeredSentAt: Millis = Number.NEGATIVE_INFINITY;

  /** This picker is about to place a request, has placed one, or has got an answer. */
  event(at: Millis): void {
    if (at - this.#eventAt > STANDSTILL_MS) {
      this.#beganAt = this.#eventAt;
      this.#endedAt = at;
      this.#hasAnswers = false;
    }
    this.#eventAt = at;
  }

  /** A request that was sent then has its first token, or has ended. */
  answered(sentAt: Millis): void {
    if (sentAt >= this.#endedAt) this.#hasAnswers = true;
    this.#answeredSentAt = Math.max(this.#answeredSentAt, sentAt);
  }

  /** When the newest request was sent of those whose answers have been read. */
  get answeredSentAt(): Millis {
    return this.#answeredSentAt;
  }

  /**
   * The time by which endpoints are judged now. It is when the last standstill began while what
   * came during it may still wait to be read: gateways send it before the answers that come later.
   */
  judgedBy(at: Millis): Millis {
    const isRead = this.#hasAnswers && at - this.#endedAt >= READ_MS;
    return isRead ? at : this.#beganAt;
  }
}
