import type { Endpoint } from '../../framework/endpoint.ts';
import type {
  SchedulingContext,
  SchedulingResult,
  ScoreAccount,
  ScoredEndpoint,
} from '../../framework/scheduling.ts';
import { TEXT_MAX } from './byte-log.ts';
import { type SlotList, writeColumn } from './column.ts';
import type { DecisionRing } from './decision-ring.ts';
import { ENDING, EVENT, FLAG, NO_SLOT, PROFILE_UNKNOWN, TARGETS_MAX } from './record-format.ts';
import type { Recording } from './recording.ts';
import { forget, makeRoom, type ScorerColumns } from './scorer-columns.ts';

/** All texts of a decision, and what is of fixed length. */
const HEAD_BYTES_MAX = 4 * (TEXT_MAX + 1) + 64;
/** Of one event, but for what it says of each endpoint. */
const EVENT_BYTES_MAX = 256;
const SLOTS_FIRST = 64;

interface Slots extends SlotList {
  slots: Uint16Array;
  count: number;
}

/** Writes one decision after another into a ring, event by event, as `record-format.ts` has it. */
export class DecisionWriter {
  readonly #ring: DecisionRing;
  readonly #wallOffsetMs: () => number;
  #recording: Recording = { layout: [], columns: [] };
  readonly #candidates: Slots = { slots: new Uint16Array(SLOTS_FIRST), count: 0 };
  readonly #kept: Slots = { slots: new Uint16Array(SLOTS_FIRST), count: 0 };
  #eligible: SlotList = this.#candidates;
  /** The candidates of the last decision. */
  #last: Endpoint[] = [];
  /** Counts changes of `#candidates`. */
  #list = 0;
  #slotsEnd = 0;
  #profile = PROFILE_UNKNOWN;
  #model = '';
  #scores = new Float64Array(SLOTS_FIRST);
  #idHash = 0;
  #requestIdHash = 0;

  constructor(ring: DecisionRing, wallOffsetMs: () => number) {
    this.#ring = ring;
    this.#wallOffsetMs = wallOffsetMs;
  }

  begin(
    endpoints: readonly Endpoint[],
    { request, now }: SchedulingContext,
    recording: Recording,
  ): void {
    const { log } = this.#ring;
    this.#recording = recording;
    const changed = this.#listed(endpoints);
    const full = this.#ring.begin(recording.layout, this.#wallOffsetMs);
    if (full) for (const columns of recording.columns) forget(columns);
    const sameList = !changed && !full;
    const sameModel = request.model === this.#model && !full;
    this.#model = request.model;
    this.#profile = PROFILE_UNKNOWN;
    log.reserve(HEAD_BYTES_MAX + 2 * endpoints.length);
    log.u8(
      (sameList ? FLAG.sameList : 0) |
        (sameModel ? FLAG.sameModel : 0) |
        (request.streaming ? FLAG.streaming : 0),
    );
    this.#idHash = log.text(request.id);
    this.#requestIdHash = log.text(request.headers.get('x-request-id') ?? '');
    if (!sameModel) log.text(request.model);
    log.f64(request.promptTokens);
    log.f64(now);
    if (!sameList) this.#writeSlots(this.#candidates);
  }

  filtered(
    { profile, filter }: { readonly profile: number; readonly filter: number },
    given: readonly Endpoint[],
    kept: readonly Endpoint[],
  ): void {
    this.#enter(profile);
    if (kept.length !== given.length) this.#dropped(filter, given, kept);
    if (kept.length === 0) this.#profile = PROFILE_UNKNOWN;
  }

  scored(
    { profile, scorer }: { readonly profile: number; readonly scorer: number },
    scores: readonly number[],
    columns: ScorerColumns,
  ): void {
    this.#enter(profile);
    const [last] = this.#columnsFor(columns).often;
    if (last === undefined || scores.length !== this.#eligible.count) return;
    if (scores.length > this.#scores.length) this.#scores = new Float64Array(2 * scores.length);
    for (let index = 0; index < scores.length; index++) {
      this.#scores[index] = scores[index] as number;
    }
    const { log } = this.#ring;
    log.u8(EVENT.scores);
    log.u8(scorer);
    writeColumn(log, this.#scores, this.#eligible, last);
  }

  accounted(
    { profile, scorer }: { readonly profile: number; readonly scorer: number },
    { inputs }: ScoreAccount,
    columns: ScorerColumns,
  ): void {
    this.#enter(profile);
    const { often, seldom } = this.#columnsFor(columns);
    const { log } = this.#ring;
    const { endpoints, cycle } = inputs;
    const all = this.#eligible === this.#candidates;
    const known = inputs.version === columns.version && columns.list === this.#list && all;
    log.u8(known ? EVENT.inputs : EVENT.allInputs);
    log.u8(scorer);
    for (let at = 0; at < cycle.length; at++) log.f64(cycle[at] as number);
    for (let at = 0; at < often.length; at++) {
      writeColumn(log, endpoints[at] as Float64Array, this.#eligible, often[at] as Float64Array);
    }
    if (known) return;
    columns.version = inputs.version;
    columns.list = all ? this.#list : Number.NaN;
    for (let at = 0; at < seldom.length; at++) {
      const values = inputs.seldom[at] as Float64Array;
      writeColumn(log, values, this.#eligible, seldom[at] as Float64Array);
    }
  }

  picked(
    profile: number,
    candidates: readonly ScoredEndpoint[],
    picked: readonly ScoredEndpoint[],
  ): void {
    this.#enter(profile);
    this.#profile = PROFILE_UNKNOWN;
    const { log } = this.#ring;
    const count = Math.min(picked.length, TARGETS_MAX);
    log.reserve(EVENT_BYTES_MAX);
    log.u8(EVENT.picked);
    log.u8(count);
    for (let target = 0; target < count; target++) {
      log.u16(placeOf(picked[target]?.endpoint, candidates));
    }
  }

  /** Without a result, the scheduler has thrown. */
  end(result: SchedulingResult | undefined): void {
    const { log } = this.#ring;
    log.reserve(HEAD_BYTES_MAX);
    log.u8(EVENT.end);
    if (result === undefined) log.u8(ENDING.threw);
    else this.#writeResult(result);
    this.#ring.end(this.#idHash, this.#requestIdHash);
  }

  #writeResult({ primary, prefill, decidedBy = '' }: SchedulingResult): void {
    const { log } = this.#ring;
    const target = primary.kind === 'picked' ? primary.targets[0] : undefined;
    log.u8(target === undefined ? ENDING.exhausted : ENDING.picked);
    const profile = this.#recording.layout.findIndex(({ name }) => name === primary.profile);
    log.u8(profile < 0 ? PROFILE_UNKNOWN : profile);
    if (target === undefined) return;
    log.u16(target.endpoint.slot);
    log.f64(target.score);
    log.u16(prefill?.slot ?? NO_SLOT);
    log.text(decidedBy);
  }

  /** A profile begins with all candidates. */
  #enter(profile: number): void {
    if (this.#profile === profile) return;
    this.#profile = profile;
    this.#eligible = this.#candidates;
    const { log } = this.#ring;
    log.reserve(EVENT_BYTES_MAX);
    log.u8(EVENT.profile);
    log.u8(profile);
  }

  #columnsFor(columns: ScorerColumns): ScorerColumns {
    makeRoom(columns, this.#slotsEnd);
    this.#ring.log.reserve(EVENT_BYTES_MAX);
    return columns;
  }

  #dropped(filter: number, given: readonly Endpoint[], kept: readonly Endpoint[]): void {
    const { log } = this.#ring;
    const dropped = given.length - kept.length;
    log.reserve(EVENT_BYTES_MAX + 2 * given.length);
    // A filter that does not keep order is told by what it kept.
    const short = dropped < kept.length && isWithin(kept, given);
    log.u8(short ? EVENT.dropped : EVENT.kept);
    log.u8(filter);
    if (short) {
      log.u16(dropped);
      let at = 0;
      for (const endpoint of given) {
        if (kept[at] === endpoint) at += 1;
        else log.u16(endpoint.slot);
      }
    }
    fill(this.#kept, kept);
    if (!short) this.#writeSlots(this.#kept);
    this.#eligible = this.#kept;
  }

  /** Takes the candidates; true where they are others than before. */
  #listed(endpoints: readonly Endpoint[]): boolean {
    this.#eligible = this.#candidates;
    const last = this.#last;
    let same = endpoints.length === last.length;
    for (let index = 0; same && index < endpoints.length; index++) {
      const endpoint = endpoints[index] as Endpoint;
      // Few have a new sample since the last decision; the others are the same object.
      if (endpoint === last[index]) continue;
      same = isOf(endpoint, last[index]);
      last[index] = endpoint;
    }
    if (same) return false;
    this.#last = [...endpoints];
    this.#list += 1;
    fill(this.#candidates, endpoints);
    for (const endpoint of endpoints) {
      this.#ring.name(endpoint);
      this.#slotsEnd = Math.max(this.#slotsEnd, endpoint.slot + 1);
    }
    return true;
  }

  #writeSlots({ slots, count }: SlotList): void {
    const { log } = this.#ring;
    log.u16(count);
    for (let index = 0; index < count; index++) log.u16(slots[index] as number);
  }
}

/** Two looks at one endpoint. */
function isOf(endpoint: Endpoint, other: Endpoint | undefined): boolean {
  return (
    endpoint.slot === other?.slot && endpoint.id === other.id && endpoint.address === other.address
  );
}

function placeOf(endpoint: Endpoint | undefined, candidates: readonly ScoredEndpoint[]): number {
  let place = 0;
  while (place < candidates.length && candidates[place]?.endpoint !== endpoint) place += 1;
  return place;
}

function fill(list: Slots, endpoints: readonly Endpoint[]): void {
  if (endpoints.length > list.slots.length) list.slots = new Uint16Array(2 * endpoints.length);
  list.count = endpoints.length;
  for (let index = 0; index < endpoints.length; index++) {
    list.slots[index] = (endpoints[index] as Endpoint).slot;
  }
}

/** Whether `part` is `whole` with some left out. */
function isWithin(part: readonly Endpoint[], whole: readonly Endpoint[]): boolean {
  let at = 0;
  for (const endpoint of whole) if (part[at] === endpoint) at += 1;
  return at === part.length;
}
