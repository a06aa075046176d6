import type { ScoreInputs } from '../../framework/scheduling.ts';
import { ByteReader } from './byte-reader.ts';
import { readColumn, type SlotList } from './column.ts';
import type { Segment } from './decision-ring.ts';
import type { Layout, ScorerLayout } from './layout.ts';
import { ENDING, EVENT, FLAG, NO_SLOT } from './record-format.ts';
import { makeRoom, newColumns, type ScorerColumns } from './scorer-columns.ts';

/** Endpoints go by their slots here, profiles, filters and scorers by their numbers in the layout. */
export interface RecordedDecision {
  readonly id: string;
  /** Empty where the client and the proxy gave none. */
  readonly requestId: string;
  readonly model: string;
  readonly promptTokens: number;
  readonly streaming: boolean;
  /** On the picker's clock. */
  readonly at: number;
  readonly candidates: Uint16Array;
  readonly runs: readonly RecordedRun[];
  readonly ending: RecordedEnding;
}

/** One profile's part in it. */
export interface RecordedRun {
  readonly profile: number;
  readonly drops: { readonly filter: number; readonly slots: Uint16Array }[];
  /** What the filters left. */
  eligible: Uint16Array;
  readonly scores: RecordedScores[];
  /** Places among the eligible, best first. */
  picked: readonly number[];
}

export interface RecordedScores {
  readonly scorer: number;
  /** In the order of the eligible. */
  readonly scores: readonly number[];
  /** What they are made of, where the scorer can tell. */
  readonly inputs: ScoreInputs | undefined;
}

export type RecordedEnding =
  | {
      readonly kind: 'picked';
      readonly profile: number;
      readonly slot: number;
      readonly score: number;
      readonly prefill: number | undefined;
      /** Empty where the configuration's profiles did. */
      readonly decidedBy: string;
    }
  | { readonly kind: 'exhausted'; readonly profile: number }
  | { readonly kind: 'threw' };

/** Reads a segment's decisions one after another: each builds on those before it. */
export class SegmentReader {
  readonly #reader: ByteReader;
  readonly #layout: Layout;
  readonly #slotsEnd: number;
  readonly #columns = new Map<ScorerLayout, ScorerColumns>();
  #candidates = new Uint16Array(0);
  #model = '';

  constructor({ bytes, endpoints, layout }: Segment) {
    this.#reader = new ByteReader(bytes);
    this.#layout = layout;
    this.#slotsEnd = endpoints.length;
  }

  /** `full` false leaves out scores, which take long, of a decision that is only passed. */
  next(full: boolean): RecordedDecision {
    const reader = this.#reader;
    const flags = reader.u8();
    const [id, requestId] = [reader.text(), reader.text()];
    if ((flags & FLAG.sameModel) === 0) this.#model = reader.text();
    const [promptTokens, at] = [reader.f64(), reader.f64()];
    if ((flags & FLAG.sameList) === 0) this.#candidates = this.#slots();
    const head = { id, requestId, model: this.#model, promptTokens, at };
    const streaming = (flags & FLAG.streaming) !== 0;
    const runs: RecordedRun[] = [];
    for (let event = reader.u8(); event !== EVENT.end; event = reader.u8()) {
      this.#event(event, runs, full);
    }
    return { ...head, streaming, candidates: this.#candidates, runs, ending: this.#ending() };
  }

  #event(event: number, runs: RecordedRun[], full: boolean): void {
    const reader = this.#reader;
    const number = reader.u8();
    if (event === EVENT.profile) {
      const eligible = this.#candidates;
      runs.push({ profile: number, drops: [], eligible, scores: [], picked: [] });
      return;
    }
    const run = runs.at(-1);
    if (run === undefined) throw new RangeError(`event ${event} outside of a profile`);
    if (event === EVENT.dropped || event === EVENT.kept) this.#drop(run, number, event);
    else if (event === EVENT.picked)
      run.picked = Array.from({ length: number }, () => reader.u16());
    else this.#scores(run, { number, event, full });
  }

  #drop(run: RecordedRun, filter: number, event: number): void {
    const listed = this.#slots();
    const others = run.eligible.filter((slot) => !listed.includes(slot));
    const dropped = event === EVENT.dropped;
    run.drops.push({ filter, slots: dropped ? listed : others });
    run.eligible = dropped ? others : listed;
  }

  #scores(
    { profile, eligible, scores }: RecordedRun,
    {
      number,
      event,
      full,
    }: { readonly number: number; readonly event: number; readonly full: boolean },
  ): void {
    const layout = this.#layout[profile]?.scorers[number];
    if (layout === undefined) throw new RangeError(`no scorer ${number} in profile ${profile}`);
    const columns = this.#columnsOf(layout);
    const list: SlotList = { slots: eligible, count: eligible.length };
    const { account } = layout;
    const cycle = new Float64Array(account?.inputs.cycle.length ?? 0);
    for (let at = 0; at < cycle.length; at++) cycle[at] = this.#reader.f64();
    for (const column of columns.often) readColumn(this.#reader, list, column);
    if (event === EVENT.allInputs) {
      for (const column of columns.seldom) readColumn(this.#reader, list, column);
    }
    if (!full) return;
    const [often, seldom] = [columns.often, columns.seldom].map((each) =>
      each.map((column) => Float64Array.from(eligible, (slot) => column[slot] ?? Number.NaN)),
    ) as [Float64Array[], Float64Array[]];
    const inputs = account && { cycle, endpoints: often, seldom, version: 0 };
    scores.push({
      scorer: number,
      inputs,
      scores: inputs ? account.scores(inputs, eligible.length) : [...(often[0] ?? [])],
    });
  }

  #columnsOf(layout: ScorerLayout): ScorerColumns {
    const columns = this.#columns.get(layout) ?? newColumns(layout);
    this.#columns.set(layout, columns);
    makeRoom(columns, this.#slotsEnd);
    return columns;
  }

  #ending(): RecordedEnding {
    const reader = this.#reader;
    const kind = reader.u8();
    if (kind === ENDING.threw) return { kind: 'threw' };
    const profile = reader.u8();
    if (kind === ENDING.exhausted) return { kind: 'exhausted', profile };
    const [slot, score, prefill] = [reader.u16(), reader.f64(), reader.u16()];
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
