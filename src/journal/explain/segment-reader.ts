import { RecordReader } from './bytes.ts';
import type { Segment } from './decision-ring.ts';
import { LastNumbers, type Layout, type ProfileLayout } from './layout.ts';
import { readNumbers } from './numbers.ts';
import { type RecordedEnding, readEnding } from './record-ending.ts';
import { firstSlots, HEAD, KEPT, NO_NUMBER, NO_SLOT, SCORE } from './record-format.ts';
import { HeadReader, type RecordedHead } from './record-head.ts';
import { readSlots } from './slot-list.ts';

/** Endpoints by their slots; profiles, filters and scorers by their numbers in the layout. */
export interface RecordedDecision extends RecordedHead {
  readonly runs: readonly RecordedRun[];
  readonly ending: RecordedEnding;
}

/** The scores take long to copy: most readers leave them out. */
type Parts = 'all' | 'without-scores';

/** What one profile did. */
export interface RecordedRun {
  readonly profile: number;
  readonly drops: readonly { readonly filter: number; readonly slots: Uint16Array }[];
  /** The endpoints that the filters left. */
  readonly eligible: Uint16Array;
  /**
   * The slots among them whose scores are kept: all, or in a large pool the best and the targets.
   */
  readonly scored: Uint16Array;
  /** For each scorer its scores, in the order of `scored`; none where nothing was scored. */
  readonly scores: readonly (readonly number[])[];
  /** The pick first. */
  readonly picked: readonly number[];
  /** The best endpoint that was not picked. */
  readonly runnerUp: number | undefined;
  /** For each scorer; none without a pick. */
  readonly terms: readonly RecordedTerms[];
}

/** In the order of `ScorerLayout.terms`; empty where the scorer does not explain. */
interface RecordedTerms {
  readonly pick: readonly number[];
  readonly runnerUp: readonly number[];
}

/** Reads a segment's decisions in order: each is written as what differs from those before. */
export class SegmentReader {
  readonly #reader: RecordReader;
  readonly #layout: Layout;
  readonly #slotsEnd: number;
  readonly #last = new Map<ProfileLayout, readonly LastNumbers[]>();
  readonly #lastOfWhole = new Float64Array(HEAD.count + SCORE.count);
  readonly #head: HeadReader;

  constructor({ bytes, layout, endpoints }: Segment) {
    this.#reader = new RecordReader(bytes);
    this.#layout = layout;
    this.#slotsEnd = endpoints.length;
    this.#head = new HeadReader(this.#reader, this.#lastOfWhole);
  }

  next(parts: Parts): RecordedDecision {
    const reader = this.#reader;
    const head = this.#head.next();
    const runs: RecordedRun[] = [];
    for (let profile = reader.u8(); profile !== NO_NUMBER; profile = reader.u8()) {
      runs.push(this.#run(profile, head.candidates, parts));
    }
    return { ...head, runs, ending: readEnding(reader, this.#lastOfWhole) };
  }

  #run(profile: number, candidates: Uint16Array, parts: Parts): RecordedRun {
    const reader = this.#reader;
    const last = this.#lastNumbers(profile);
    const { drops, eligible } = this.#filters(candidates);
    const nothing = { scores: [], picked: [], runnerUp: undefined, terms: [] };
    if (eligible.length === 0) return { profile, drops, eligible, scored: eligible, ...nothing };
    const scored = reader.u8() === KEPT.all ? eligible : readSlots(reader);
    const list = { slots: scored, count: scored.length };
    for (const { scores } of last) readNumbers(reader, list, scores);
    const scores =
      parts === 'without-scores'
        ? []
        : last.map((each) => Array.from(scored, (slot) => each.scores[slot] ?? Number.NaN));
    const picked = [...readSlots(reader)];
    const slot = picked.length === 0 ? NO_SLOT : reader.u16();
    const runnerUp = slot === NO_SLOT ? undefined : slot;
    const terms = picked.length === 0 ? [] : last.map((each) => this.#terms(each, runnerUp));
    return { profile, drops, eligible, scored, scores, picked, runnerUp, terms };
  }

  #filters(candidates: Uint16Array): Pick<RecordedRun, 'drops' | 'eligible'> {
    const drops: { filter: number; slots: Uint16Array }[] = [];
    let eligible = candidates;
    for (let filter = this.#reader.u8(); filter !== NO_NUMBER; filter = this.#reader.u8()) {
      const kept = readSlots(this.#reader);
      drops.push({ filter, slots: eligible.filter((slot) => !kept.includes(slot)) });
      eligible = kept;
    }
    return { drops, eligible };
  }

  #terms(last: LastNumbers, runnerUp: number | undefined): RecordedTerms {
    const count = this.#reader.u8();
    if (count === 0) return { pick: [], runnerUp: [] };
    const next = (): readonly number[] => {
      readNumbers(this.#reader, firstSlots(count), last.terms);
      return [...last.terms.subarray(0, count)];
    };
    return { pick: next(), runnerUp: runnerUp === undefined ? [] : next() };
  }

  #lastNumbers(profile: number): readonly LastNumbers[] {
    const layout = this.#layout[profile];
    if (layout === undefined) throw new RangeError(`the layout has no profile ${profile}`);
    const last = this.#last.get(layout) ?? layout.scorers.map(() => new LastNumbers());
    this.#last.set(layout, last);
    for (const each of last) each.reserve(this.#slotsEnd);
    return last;
  }
}
