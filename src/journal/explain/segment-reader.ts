import { RecordReader } from './bytes.ts';
import type { Segment } from './decision-ring.ts';
import { LastNumbers, type Layout, type ProfileLayout } from './layout.ts';
import { readNumbers } from './numbers.ts';
import {
  ENDING,
  firstSlots,
  HEAD,
  KEPT,
  NO_NUMBER,
  NO_SLOT,
  RECORD_FLAG,
  SCORE,
} from './record-format.ts';

/** Endpoints by their slots; profiles, filters and scorers by their numbers in the layout. */
export interface RecordedDecision {
  readonly id: string;
  /** Empty where the client and the proxy sent none. */
  readonly requestId: string;
  readonly model: string;
  readonly promptTokens: number;
  readonly streaming: boolean;
  /** The failures of plugins, cut to `TEXT_MAX` characters; empty where nothing failed. */
  readonly faults: string;
  /** Empty where the profiles did not decide in place of a scheduler. */
  readonly insteadOf: string;
  /** Undefined where the request did not wait. */
  readonly waited: RecordedWait | undefined;
  /** On the picker's clock. */
  readonly at: number;
  readonly candidates: Uint16Array;
  readonly runs: readonly RecordedRun[];
  readonly ending: RecordedEnding;
}

/** How long a request has waited at the picker, and for what. */
export interface RecordedWait {
  readonly waitedMs: number;
  /** The slot of the endpoint that it has waited for. */
  readonly slot: number | undefined;
  /** Tokens of its prompt that this endpoint was expected to hold. */
  readonly cachedTokens: number;
}

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
  | { readonly kind: 'threw' };

/** Reads a segment's decisions in order: each is written as what differs from those before. */
export class SegmentReader {
  readonly #reader: RecordReader;
  readonly #layout: Layout;
  readonly #slotsEnd: number;
  readonly #last = new Map<ProfileLayout, readonly LastNumbers[]>();
  readonly #head = new Float64Array(HEAD.count + SCORE.count);
  #candidates = new Uint16Array(0);
  #id = '';
  #model = '';

  constructor({ bytes, layout, endpoints }: Segment) {
    this.#reader = new RecordReader(bytes);
    this.#layout = layout;
    this.#slotsEnd = endpoints.length;
  }

  /** The next decision. `without-scores`: these take long to copy, and are left out. */
  next(parts: 'all' | 'without-scores'): RecordedDecision {
    const reader = this.#reader;
    const flags = reader.u8();
    this.#id = this.#id.slice(0, reader.u8()) + reader.text();
    const requestId = reader.text();
    if ((flags & RECORD_FLAG.sameModel) === 0) this.#model = reader.text();
    const faults = (flags & RECORD_FLAG.faulty) === 0 ? '' : reader.text();
    const insteadOf = (flags & RECORD_FLAG.instead) === 0 ? '' : reader.text();
    const waited = (flags & RECORD_FLAG.waited) === 0 ? undefined : this.#waited();
    readNumbers(reader, HEAD, this.#head);
    const [promptTokens = 0, at = 0] = this.#head;
    if ((flags & RECORD_FLAG.sameList) === 0) this.#candidates = this.#slots();
    const head = { id: this.#id, requestId, model: this.#model, promptTokens, at };
    const streaming = (flags & RECORD_FLAG.streaming) !== 0;
    const runs: RecordedRun[] = [];
    for (let profile = reader.u8(); profile !== NO_NUMBER; profile = reader.u8()) {
      runs.push(this.#run(profile, parts === 'all'));
    }
    const candidates = this.#candidates;
    const what = { streaming, faults, insteadOf, waited, candidates, runs };
    return { ...head, ...what, ending: this.#ending() };
  }

  #waited(): RecordedWait {
    const waitedMs = this.#reader.f64();
    const slot = this.#reader.u16();
    const cachedTokens = this.#reader.f64();
    return { waitedMs, slot: slot === NO_SLOT ? undefined : slot, cachedTokens };
  }

  #run(profile: number, full: boolean): RecordedRun {
    const reader = this.#reader;
    const last = this.#lastNumbers(profile);
    const { drops, eligible } = this.#filters();
    const nothing = { scores: [], picked: [], runnerUp: undefined, terms: [] };
    if (eligible.length === 0) return { profile, drops, eligible, scored: eligible, ...nothing };
    const scored = reader.u8() === KEPT.all ? eligible : this.#slots();
    const list = { slots: scored, count: scored.length };
    for (const { scores } of last) readNumbers(reader, list, scores);
    const scores = full
      ? last.map((each) => Array.from(scored, (slot) => each.scores[slot] ?? Number.NaN))
      : [];
    const picked = [...this.#slots()];
    const slot = picked.length === 0 ? NO_SLOT : reader.u16();
    const runnerUp = slot === NO_SLOT ? undefined : slot;
    const terms = picked.length === 0 ? [] : last.map((each) => this.#terms(each, runnerUp));
    return { profile, drops, eligible, scored, scores, picked, runnerUp, terms };
  }

  #filters(): Pick<RecordedRun, 'drops' | 'eligible'> {
    const drops: { filter: number; slots: Uint16Array }[] = [];
    let eligible: Uint16Array = this.#candidates;
    for (let filter = this.#reader.u8(); filter !== NO_NUMBER; filter = this.#reader.u8()) {
      const kept = this.#slots();
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

  #ending(): RecordedEnding {
    const reader = this.#reader;
    const kind = reader.u8();
    if (kind === ENDING.threw) return { kind: 'threw' };
    const profile = reader.u8();
    if (kind === ENDING.exhausted) return { kind: 'exhausted', profile };
    const slot = reader.u16();
    readNumbers(reader, SCORE, this.#head);
    const score = this.#head[HEAD.count] ?? Number.NaN;
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

  #slots(): Uint16Array<ArrayBuffer> {
    const slots = new Uint16Array(this.#reader.u16());
    for (let at = 0; at < slots.length; at++) slots[at] = this.#reader.u16();
    return slots;
  }
}
