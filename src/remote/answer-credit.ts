import { countFields } from './count-fields.ts';

/**
 * What a message costs before its content: gRPC takes as long for an empty one as for some fields.
 */
const MESSAGE_COST = 20;
/** So many bytes are read in the time of one field. */
const BYTES_A_FIELD = 64;
/** What a stream may use for its first messages. */
const AT_FIRST = 1000;
/** An answer with as many headers as it may have, beside its targets. */
const ANSWER_COST = 300;
/** A target is one field of up to 15 bytes. */
const TARGET_COST = 1.25;
/** What may be saved up: answers to hundreds of requests that score a thousand endpoints each. */
const CREDIT_MAX = 400_000;

/**
 * How much a scheduler may still send. It may send as much as the requests that it was asked about
 * can need: one that sends without being asked would otherwise take the time of the picker's
 * decisions.
 */
export class AnswerCredit {
  #left = AT_FIRST;

  /** A request with so many candidates is asked. */
  grant(candidates: number): void {
    this.#left = Math.min(CREDIT_MAX, this.#left + ANSWER_COST + TARGET_COST * candidates);
  }

  /** A message has come. Returns whether it was still paid for. */
  spend(bytes: Uint8Array): boolean {
    this.#left -= MESSAGE_COST + bytes.length / BYTES_A_FIELD + countFields(bytes);
    return this.#left >= 0;
  }
}
