/**
 * A decision is a head, events, and an end. Head: flags, our id, the client's id, model, prompt tokens, time, slots of the
 * candidates; model and slots only where they are not those of the decision before. Events are of the open profile, which
 * begins with all candidates. Every number is in `ByteLog`'s terms.
 */
export const FLAG = { sameList: 1, sameModel: 2, streaming: 4 } as const;

export const EVENT = {
  /** u8 profile: it begins. */
  profile: 1,
  /** u8 filter, list: these were dropped. */
  dropped: 2,
  /** u8 filter, list: these were kept, in this order. */
  kept: 3,
  /** u8 scorer, column: its scores. */
  scores: 4,
  /** u8 scorer, cycle's f64s, columns that differ often: what its scores are made of. */
  inputs: 5,
  /** As `inputs`, and columns that seldom differ. */
  allInputs: 6,
  /** u8 count, u16 each: places among the eligible, the first being the pick. */
  picked: 7,
  /** u8 how, see `ENDING`. Nothing follows. */
  end: 8,
} as const;

export const ENDING = {
  /** u8 profile, u16 slot, f64 score, u16 slot of prefill or `NO_SLOT`, text of who decided or empty. */
  picked: 0,
  /** u8 profile: its filters left none. */
  exhausted: 1,
  threw: 2,
} as const;

export const NO_SLOT = 65_535;
/** Of a scheduler in place of the profiles. */
export const PROFILE_UNKNOWN = 255;
/** Fallbacks beyond these are not told. */
export const TARGETS_MAX = 16;
