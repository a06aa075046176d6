import type { FlowPlace } from '../../flow/control/flow-place.ts';
import { ERRORS } from '../../framework/error.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { keptBeginning } from '../../framework/values/keyed-hash.ts';
import type { FlowEnd, FlowEvent, FlowStay } from '../../picker/flow-control/flow-stay.ts';
import { TEXT_MAX } from './bytes.ts';

/** What flow control did with a request that it did not let go at once. */
export interface ExplainedFlow {
  readonly priority: number;
  readonly fairnessId: string;
  /** Until it left, or until now. */
  readonly waitedMs: Millis;
  /** Where it stood when it came; left out where it was refused at once. */
  readonly came?: FlowPlace;
  /** Left out while it waits. */
  readonly left?: ExplainedFlowEnd;
}

export type ExplainedFlowEnd =
  | {
      readonly kind: 'let-go';
      /** What had happened just before; empty where only time went by. */
      readonly after: readonly FlowEvent[];
      /** Where it stood then; left out where flow control was switched off. */
      readonly place?: FlowPlace;
    }
  | {
      readonly kind: 'refused';
      readonly status: number;
      /** The value of the header `x-llm-d-request-dropped-reason`. */
      readonly reason: string;
      readonly why: string;
    }
  | { readonly kind: 'client-gone' };

/** A request that flow control kept or refused, as an explanation begins. */
export interface FlowRecord {
  readonly id: string;
  /** `x-request-id`; empty where there was none. */
  readonly requestId: string;
  /** When it left, in milliseconds since the epoch. */
  readonly wallMs: Millis;
  readonly model: string;
  readonly promptTokens: number;
  readonly streaming: boolean;
  readonly flowControl: ExplainedFlow;
}

/** With 400 bytes each they take some 6 MB. */
const STAYS_MAX = 16_384;

/** The last requests that flow control kept for a while or refused. */
export class LastFlowStays {
  readonly #clock: Pick<Clock, 'now' | 'wallTime'>;
  readonly #records: FlowRecord[] = [];
  #added = 0;

  constructor(clock: Pick<Clock, 'now' | 'wallTime'>) {
    this.#clock = clock;
  }

  readonly onStay = (stay: FlowStay): void => {
    this.#records[this.#added % STAYS_MAX] = this.recordOf(stay);
    this.#added += 1;
  };

  /** The latest one of this request, by our own id or by that of client or proxy. */
  find(id: string): FlowRecord | undefined {
    for (const record of this.latestFirst()) {
      if (record.id === id || record.requestId === id) return record;
    }
    return undefined;
  }

  /** All of one request by our own id: it may have been kept, and ended for others later. */
  of(id: string): readonly FlowRecord[] {
    return [...this.latestFirst()].filter((record) => record.id === id);
  }

  /** The latest ones that were refused since then, the latest first. */
  refusedSince(wallMs: Millis, limit: number): readonly FlowRecord[] {
    const refused: FlowRecord[] = [];
    for (const record of this.latestFirst()) {
      if (refused.length === limit || record.wallMs < wallMs) break;
      if (record.flowControl.left?.kind === 'refused') refused.push(record);
    }
    return refused;
  }

  *latestFirst(): Generator<FlowRecord> {
    const oldest = Math.max(0, this.#added - STAYS_MAX);
    for (let number = this.#added - 1; number >= oldest; number--) {
      yield this.#records[number % STAYS_MAX] as FlowRecord;
    }
  }

  recordOf({ request, since, at, place, end }: FlowStay): FlowRecord {
    const { id, model, promptTokens, streaming, priority, fairnessId, headers } = request;
    const left = end && endOf(end);
    return {
      id,
      requestId: keptBeginning(headers.get('x-request-id') ?? '', TEXT_MAX),
      wallMs: at + this.#clock.wallTime() - this.#clock.now(),
      model: keptBeginning(model, TEXT_MAX),
      promptTokens,
      streaming,
      flowControl: {
        priority,
        fairnessId: keptBeginning(fairnessId, TEXT_MAX),
        waitedMs: at - since,
        ...(place !== undefined && { came: place }),
        ...(left !== undefined && { left }),
      },
    };
  }
}

function endOf(end: FlowEnd): ExplainedFlowEnd {
  if (end.kind === 'client-gone') return end;
  if (end.kind === 'let-go') {
    const { kind, after, place } = end;
    return { kind, after, ...(place !== undefined && { place }) };
  }
  const { code, sentence } = end.error;
  const { status, droppedReason } = ERRORS[code];
  return { kind: 'refused', status, reason: droppedReason ?? code, why: sentence };
}
