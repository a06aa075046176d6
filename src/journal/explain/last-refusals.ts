import { ERRORS, type RoutingError } from '../../framework/error.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { keptBeginning } from '../../framework/values/keyed-hash.ts';
import { TEXT_MAX } from './bytes.ts';

/** A request that the picker answered itself, as an explanation begins. */
export interface RefusedRequest {
  /** The client's `x-request-id`, or the picker's own id. */
  readonly requestId: string;
  /** When it was refused, in milliseconds since the epoch. */
  readonly wallMs: Millis;
  /** Empty where it was refused before it was read. */
  readonly model: string;
  readonly refused: {
    readonly status: number;
    /** The value of the header `x-llm-d-request-dropped-reason`, or the code of the error. */
    readonly reason: string;
    readonly why: string;
  };
}

/** What the server knows of a request that it refuses. */
export interface RefusalNote {
  readonly error: RoutingError;
  readonly requestId: string;
  /** Undefined where it was refused before it was read. */
  readonly model: string | undefined;
}

/** With up to 1,000 bytes each they take some 4 MB at most. */
const REFUSALS_MAX = 4096;
/** The longest sentences of ours are shorter, unless they have texts of a client. */
const WHY_MAX = 400;

interface Noted {
  readonly record: RefusedRequest;
  readonly isRead: boolean;
}

/**
 * The last requests that were refused, whatever refused them: those that were refused before a
 * decision, such as one whose body is not JSON, are known here alone.
 */
export class LastRefusals {
  readonly #clock: Pick<Clock, 'wallTime'>;
  readonly #noted: Noted[] = [];
  #added = 0;

  constructor(clock: Pick<Clock, 'wallTime'>) {
    this.#clock = clock;
  }

  add({ error: { code, sentence }, requestId, model }: RefusalNote): void {
    const { status, droppedReason } = ERRORS[code];
    const reason = droppedReason ?? code;
    const record = {
      requestId: keptBeginning(requestId, TEXT_MAX),
      wallMs: this.#clock.wallTime(),
      model: keptBeginning(model ?? '', TEXT_MAX),
      refused: { status, reason, why: keptBeginning(sentence, WHY_MAX) },
    };
    this.#noted[this.#added % REFUSALS_MAX] = { record, isRead: model !== undefined };
    this.#added += 1;
  }

  /** The latest one with this id. */
  find(requestId: string): RefusedRequest | undefined {
    for (const { record } of this.#latestFirst()) if (record.requestId === requestId) return record;
    return undefined;
  }

  /**
   * The latest ones since then, the latest first, but for those that `isListed` knows by a decision,
   * or because flow control refused them. What was refused before it was read has neither.
   */
  since(
    wallMs: Millis,
    limit: number,
    isListed: (requestId: string) => boolean,
  ): readonly RefusedRequest[] {
    const found: RefusedRequest[] = [];
    for (const { record, isRead } of this.#latestFirst()) {
      if (found.length === limit || record.wallMs < wallMs) break;
      if (!isRead || !isListed(record.requestId)) found.push(record);
    }
    return found;
  }

  /** How many were refused since then, by status and reason. */
  countsSince(wallMs: Millis): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { record } of this.#latestFirst()) {
      if (record.wallMs < wallMs) break;
      const why = `${record.refused.status} ${record.refused.reason}`;
      counts.set(why, (counts.get(why) ?? 0) + 1);
    }
    return counts;
  }

  *#latestFirst(): Generator<Noted> {
    const oldest = Math.max(0, this.#added - REFUSALS_MAX);
    for (let number = this.#added - 1; number >= oldest; number--) {
      yield this.#noted[number % REFUSALS_MAX] as Noted;
    }
  }
}
