import type { RoutedRequest } from '../framework/routing.ts';
import type { Millis } from '../framework/runtime.ts';
import { promptOfRuns } from '../journal/capture/block-numbers.ts';
import type { CapturedRequest, CaptureRecord } from '../journal/capture/capture-record.ts';
import { requestOf } from './captured-inputs.ts';
import type { FirstToken } from './redecision.ts';

/** A record of what became of a request that was placed. */
export type OutcomeRecord = Extract<
  CaptureRecord,
  { e: 'first' | 'served' | 'body' | 'answer' | 'done' }
>;

/** What a first token is compared with. */
export interface ExpectedToken {
  readonly request: CapturedRequest;
  readonly at: Millis;
  readonly predictedMs: Millis;
}

/** A request that was decided again and has not ended yet. */
interface OpenRedecision {
  readonly routed: RoutedRequest;
  /** Undefined after the first token, and where none is predicted. */
  readonly expected?: ExpectedToken | undefined;
}

/** The requests that have been placed and have not ended yet, by their number in the capture. */
export class OpenRequests {
  readonly #open = new Map<number, OpenRedecision>();
  readonly #onFirstToken: ((token: FirstToken) => void) | undefined;

  /** `onFirstToken` is called for each one that is seen and was expected. */
  constructor(onFirstToken: ((token: FirstToken) => void) | undefined) {
    this.#onFirstToken = onFirstToken;
  }

  add(n: number, routed: RoutedRequest, expected: ExpectedToken | undefined): void {
    this.#open.set(n, { routed, expected });
  }

  /** Nothing happens for a request that is not open. */
  apply(record: OutcomeRecord): void {
    const open = this.#open.get(record.n);
    if (open === undefined) return;
    const { routed } = open;
    if (record.e === 'first') this.#firstToken(record, open);
    else if (record.e === 'served') routed.served(record.address);
    else if (record.e === 'body') routed.bodyRead(requestOf(record.r));
    else if (record.e === 'answer') {
      routed.answered(promptOfRuns(record.blocks, record.blockTokens));
    } else {
      this.#open.delete(record.n);
      const [promptTokens, completionTokens, cached] = record.u ?? [0, 0, null];
      const usage = { promptTokens, completionTokens, cachedTokens: cached ?? undefined };
      routed.done(record.o, record.u && usage, record.bytes);
    }
  }

  #firstToken(
    { n, t }: Extract<OutcomeRecord, { e: 'first' }>,
    { routed, expected }: OpenRedecision,
  ): void {
    routed.firstToken();
    if (expected === undefined) return;
    this.#open.set(n, { routed });
    const { request, at, predictedMs } = expected;
    this.#onFirstToken?.({ request, predictedMs, observedMs: t - at });
  }
}
