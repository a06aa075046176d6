import { TEXT_MAX } from './bytes.ts';
import { TERMS_MAX } from './layout.ts';
import type { SlotList } from './numbers.ts';

/**
 * The bytes of one decision, in the terms of `ByteLog` and `writeNumbers`. A slot list is a u16
 * count and a u16 each.
 *
 * - u8 `RECORD_FLAG` bits; u8 how many characters of our id are those of the decision before, text
 *   of the others; texts: the client's id, the model unless it is that of the decision before, what
 *   failed if something did, and in whose place the profiles decided if so
 * - where the request has waited: f64 milliseconds, u16 slot for which or `NO_SLOT`, f64 tokens of
 *   its prompt there
 * - where requests at the pick are taken for lost: u16 how many, at most 65,535
 * - where there were others than the candidates: u16 beside a trial; u16 each that were ejected,
 *   late and full, or 0 at a trial
 * - numbers: prompt tokens and the time; the slot list of the candidates unless it is that of the
 *   decision before
 * - for each profile that ran: u8 number of the profile in the layout, then
 * - for each filter that dropped endpoints: u8 filter, slot list of those it kept; then u8
 *   `NO_NUMBER`
 * - unless the filters left none: u8 `KEPT` and with `best` the slot list of the endpoints whose
 *   scores are kept; for each scorer numbers, the scores of those; slot list of the targets, the
 *   pick first; and where there is a pick: u16 slot of the runner-up or `NO_SLOT`, then for each
 *   scorer u8 count of terms and, unless that is 0, numbers, rounded to 32-bit floats: those of the
 *   pick, and those of the runner-up if there is one
 * - u8 `NO_NUMBER`, u8 `ENDING`, and what belongs to the ending
 */
export const RECORD_FLAG = {
  sameList: 1,
  sameModel: 2,
  streaming: 4,
  faulty: 8,
  instead: 16,
  waited: 32,
  lost: 64,
  others: 128,
} as const;

export const ENDING = {
  /**
   * u8 profile or `NO_NUMBER`, u16 slot, number score, u16 prefill's slot or `NO_SLOT`, text
   * `decidedBy`.
   */
  picked: 0,
  /** u8 profile or `NO_NUMBER`: its filters left none. */
  exhausted: 1,
  threw: 2,
  /** text: the replacement that refused the request. */
  refused: 3,
  /** No profile ran: screening left no endpoint. */
  screened: 4,
  /** text: with what a plugin refused the request on purpose. */
  rejected: 5,
  /** text: no endpoint could begin it in the time for which it may wait. */
  expired: 6,
  /** text: there was no candidate: the pool or the subset is empty, or all are full. */
  noCandidates: 7,
} as const;

/** Whether the scores of all endpoints are kept that the filters left, or those of the best. */
export const KEPT = { all: 0, best: 1 } as const;

/** No profile, no filter: none has this number. */
export const NO_NUMBER = 255;
export const NO_SLOT = 65_535;
/** Targets beyond these are left out. */
export const TARGETS_MAX = 16;

/** All texts of a decision, and its parts of fixed length. */
export const FIXED_BYTES_MAX: number = 5 * (TEXT_MAX + 1) + 96;

/** Where the numbers of a decision as a whole are kept, to be compared with those of the next. */
export const HEAD: SlotList = { slots: Uint16Array.of(0, 1), count: 2 };
export const SCORE: SlotList = { slots: Uint16Array.of(2), count: 1 };

const PLACES: Uint16Array = Uint16Array.from({ length: TERMS_MAX }, (_, place) => place);

/** The places of so many terms. */
export function firstSlots(count: number): SlotList {
  return { slots: PLACES, count };
}
