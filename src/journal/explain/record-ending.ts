import { RoutingError } from '../../framework/error.ts';
import type { Decision } from '../../framework/scheduling.ts';
import type { DecisionEvent } from '../../picker/events/journal.ts';
import type { ByteLog, RecordReader } from './bytes.ts';
import { readNumbers, writeNumbers } from './numbers.ts';
import { ENDING, FIXED_BYTES_MAX, HEAD, NO_NUMBER, NO_SLOT, SCORE } from './record-format.ts';

/** What became of a decision, as its record ends. Profiles by their numbers, endpoints by slots. */
export type RecordedEnding =
  | {
      readonly kind: 'picked';
      readonly profile: number;
      readonly slot: number;
      readonly score: number;
      readonly prefill: number | undefined;
      /** Empty where the profiles of the configuration decided. */
      readonly decidedBy: string;
    }
  | { readonly kind: 'exhausted'; readonly profile: number }
  | { readonly kind: 'refused'; readonly refusedBy: string }
  | { readonly kind: 'screened' }
  | { readonly kind: 'rejected'; readonly why: string }
  | { readonly kind: 'expired'; readonly why: string }
  | { readonly kind: 'no-candidates'; readonly why: string }
  | { readonly kind: 'threw' };

/** Writes endings one after another, each score as what differs from the one before. */
export class EndingWriter {
  readonly #log: ByteLog;
  /** The numbers that were written last. */
  readonly #last: Float64Array;
  readonly #score = new Float64Array(SCORE.count);

  constructor(log: ByteLog, last: Float64Array) {
    this.#log = log;
    this.#last = last;
  }

  /** `profile` is the number of the primary's profile; undefined where that has none. */
  write(
    { context, decision, error }: Pick<DecisionEvent, 'context' | 'decision' | 'error'>,
    profile: number | undefined,
  ): void {
    const log = this.#log;
    log.reserve(FIXED_BYTES_MAX);
    log.u8(NO_NUMBER);
    if (decision === undefined) {
      this.#writeThrown(error, context !== undefined);
      return;
    }
    const { primary, prefill, decidedBy = '' } = decision;
    const target = primary.kind === 'picked' ? primary.targets[0] : undefined;
    if (target === undefined) {
      this.#writeNone(primary, profile);
      return;
    }
    log.u8(ENDING.picked);
    log.u8(profile ?? NO_NUMBER);
    log.u16(target.endpoint.slot);
    this.#score[0] = target.score;
    writeNumbers(log, this.#score, SCORE, this.#last);
    log.u16(prefill?.slot ?? NO_SLOT);
    log.text(decidedBy);
  }

  /** Plugins and waiting rooms refuse a request by a RoutingError; anything else is a fault. */
  #writeThrown(error: unknown, hasCandidates: boolean): void {
    if (!(error instanceof RoutingError)) {
      this.#log.u8(ENDING.threw);
      return;
    }
    const refused = error.code === 'queue-timeout' ? ENDING.expired : ENDING.rejected;
    this.#log.u8(hasCandidates ? refused : ENDING.noCandidates);
    this.#log.text(error.sentence);
  }

  #writeNone(primary: Decision['primary'], profile: number | undefined): void {
    const log = this.#log;
    if (primary.kind === 'exhausted' && primary.refusedBy !== undefined) {
      log.u8(ENDING.refused);
      log.text(primary.refusedBy);
    } else if (primary.kind === 'exhausted' && primary.screened === true) {
      log.u8(ENDING.screened);
    } else {
      log.u8(ENDING.exhausted);
      log.u8(profile ?? NO_NUMBER);
    }
  }
}

/** Reads what an `EndingWriter` has written behind its `NO_NUMBER`; `last` is that of the heads. */
export function readEnding(reader: RecordReader, last: Float64Array): RecordedEnding {
  const kind = reader.u8();
  if (kind === ENDING.threw) return { kind: 'threw' };
  if (kind === ENDING.refused) return { kind: 'refused', refusedBy: reader.text() };
  if (kind === ENDING.screened) return { kind: 'screened' };
  if (kind === ENDING.rejected) return { kind: 'rejected', why: reader.text() };
  if (kind === ENDING.noCandidates) return { kind: 'no-candidates', why: reader.text() };
  if (kind === ENDING.expired) return { kind: 'expired', why: reader.text() };
  const profile = reader.u8();
  if (kind === ENDING.exhausted) return { kind: 'exhausted', profile };
  const slot = reader.u16();
  readNumbers(reader, SCORE, last);
  const score = last[HEAD.count] ?? Number.NaN;
  const prefill = reader.u16();
  return {
    kind: 'picked',
    profile,
    slot,
    score,
    prefill: prefill === NO_SLOT ? undefined : prefill,
    decidedBy: reader.text(),
  };
}
