import type { Decision } from '../../framework/scheduling.ts';
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
  write(decision: Decision | undefined, profile: number | undefined): void {
    const log = this.#log;
    log.reserve(FIXED_BYTES_MAX);
    log.u8(NO_NUMBER);
    if (decision === undefined) {
      log.u8(ENDING.threw);
      return;
    }
    const { primary, prefill, decidedBy = '' } = decision;
    if (primary.kind === 'exhausted' && primary.refusedBy !== undefined) {
      log.u8(ENDING.refused);
      log.text(primary.refusedBy);
      return;
    }
    const target = primary.kind === 'picked' ? primary.targets[0] : undefined;
    log.u8(target === undefined ? ENDING.exhausted : ENDING.picked);
    log.u8(profile ?? NO_NUMBER);
    if (target === undefined) return;
    log.u16(target.endpoint.slot);
    this.#score[0] = target.score;
    writeNumbers(log, this.#score, SCORE, this.#last);
    log.u16(prefill?.slot ?? NO_SLOT);
    log.text(decidedBy);
  }
}

/** Reads what an `EndingWriter` has written behind its `NO_NUMBER`; `last` is that of the heads. */
export function readEnding(reader: RecordReader, last: Float64Array): RecordedEnding {
  const kind = reader.u8();
  if (kind === ENDING.threw) return { kind: 'threw' };
  if (kind === ENDING.refused) return { kind: 'refused', refusedBy: reader.text() };
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
