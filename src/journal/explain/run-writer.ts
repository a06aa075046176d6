import type { Endpoint } from '../../framework/endpoint.ts';
import type {
  ProfileRun,
  SchedulingContext,
  SchedulingProfile,
  ScoredEndpoint,
  Scorer,
  ScoreTerms,
} from '../../framework/scheduling.ts';
import type { DecisionRing } from './decision-ring.ts';
import { type LastNumbers, type Layout, noLastNumbers, type ScorerLayout } from './layout.ts';
import { type SlotList, writeNumbers } from './numbers.ts';
import { NO_SLOT, NONE, placesOf, TARGETS_MAX } from './record-format.ts';

/** What a part of a run takes at most, apart from its lists. */
const PART_BYTES_MAX = 64;
const SLOTS_FIRST = 64;

/** The slots of some endpoints, filled in again and again. */
export class SlotBuffer implements SlotList {
  slots: Uint16Array = new Uint16Array(SLOTS_FIRST);
  count = 0;

  fill(endpoints: readonly Endpoint[]): this {
    if (endpoints.length > this.slots.length) this.slots = new Uint16Array(2 * endpoints.length);
    this.count = endpoints.length;
    for (let index = 0; index < endpoints.length; index++) {
      this.slots[index] = (endpoints[index] as Endpoint).slot;
    }
    return this;
  }
}

/** A profile with its number in a layout, and the numbers of its scorers that were written last. */
interface KnownProfile {
  readonly layout: Layout;
  readonly number: number;
  readonly scorers: readonly KnownScorer[];
  /** The segment that the last numbers are in, by the number of its first decision. */
  segment: number;
}

interface KnownScorer {
  readonly scorer: Scorer;
  readonly layout: ScorerLayout;
  last: LastNumbers;
}

/** Writes what profiles did, as `record-format.ts` has it; numbers each when first seen. */
export class RunWriter {
  readonly #ring: DecisionRing;
  #layout: Layout = [];
  readonly #profiles = new WeakMap<SchedulingProfile, KnownProfile>();
  readonly #kept = new SlotBuffer();

  constructor(ring: DecisionRing) {
    this.#ring = ring;
  }

  /** The layout for a decision with so many profiles: a new one where numbers would run out. */
  layoutFor(profiles: number): Layout {
    if (this.#layout.length + profiles > NONE) this.#layout = [];
    return this.#layout;
  }

  numberOf(profile: SchedulingProfile): number {
    return this.#known(profile).number;
  }

  write(run: ProfileRun, targets: readonly ScoredEndpoint[], candidates: SlotList): void {
    const { log, first } = this.#ring;
    const profile = this.#known(run.profile);
    const { scorers, segment } = profile;
    profile.segment = first;
    log.reserve(PART_BYTES_MAX);
    log.u8(profile.number);
    if (segment !== first) for (const scorer of scorers) scorer.last = noLastNumbers();
    const left = this.#writeFilters(run, candidates);
    if (left.count === 0) return;
    for (let at = 0; at < scorers.length; at++) {
      const known = scorers[at] as KnownScorer;
      writeNumbers(log, run.scores[at] as readonly number[], left, known.last.scores);
    }
    log.reserve(PART_BYTES_MAX);
    const count = Math.min(targets.length, TARGETS_MAX);
    log.u16(count);
    for (let at = 0; at < count; at++) log.u16((targets[at] as ScoredEndpoint).endpoint.slot);
    if (targets[0] === undefined) return;
    const pick = targets[0].endpoint;
    const runnerUp = runnerUpOf(pick, run.scored);
    log.u16(runnerUp?.slot ?? NO_SLOT);
    for (const known of scorers) this.#writeTerms(known, run.context, pick, runnerUp);
  }

  /** Returns the endpoints that the filters left. */
  #writeFilters({ kept }: ProfileRun, candidates: SlotList): SlotList {
    const { log } = this.#ring;
    let left = candidates;
    for (let filter = 0; filter < kept.length; filter++) {
      const endpoints = kept[filter] as readonly Endpoint[];
      if (endpoints.length === left.count) continue;
      log.reserve(PART_BYTES_MAX + 2 * endpoints.length);
      log.u8(filter);
      left = this.#kept.fill(endpoints);
      writeSlots(this.#ring, left);
    }
    log.u8(NONE);
    return left;
  }

  #writeTerms(
    { scorer, layout, last }: KnownScorer,
    context: SchedulingContext,
    pick: Endpoint,
    runnerUp: Endpoint | undefined,
  ): void {
    const { log } = this.#ring;
    const terms = termsOf(scorer, pick, context);
    if (layout.terms.length === 0) layout.terms = Object.keys(terms);
    const places = placesOf(layout.terms.length);
    log.reserve(PART_BYTES_MAX);
    log.u8(places.count);
    if (places.count === 0) return;
    writeNumbers(log, Object.values(terms), places, last.terms);
    if (runnerUp === undefined) return;
    writeNumbers(log, Object.values(termsOf(scorer, runnerUp, context)), places, last.terms);
  }

  #known(profile: SchedulingProfile): KnownProfile {
    const known = this.#profiles.get(profile);
    if (known?.layout === this.#layout) return known;
    const scorers = profile.scorers.map(({ name, type, weight, scorer }) => ({
      scorer,
      layout: { name, type, weight, terms: [] },
      last: noLastNumbers(),
    }));
    const filters = profile.filters.map(({ name }) => name);
    const layouts = scorers.map(({ layout }) => layout);
    const number = this.#layout.push({ name: profile.name, filters, scorers: layouts }) - 1;
    const added = { layout: this.#layout, number, scorers, segment: Number.NaN };
    this.#profiles.set(profile, added);
    return added;
  }
}

export function writeSlots({ log }: DecisionRing, { slots, count }: SlotList): void {
  log.u16(count);
  for (let index = 0; index < count; index++) log.u16(slots[index] as number);
}

const NO_TERMS: ScoreTerms = {};

/** No terms where the scorer does not explain, or throws: that must not fail the request. */
function termsOf(scorer: Scorer, endpoint: Endpoint, context: SchedulingContext): ScoreTerms {
  try {
    return scorer.explain?.(endpoint, context) ?? NO_TERMS;
  } catch {
    return NO_TERMS;
  }
}

/** The best endpoint that was not picked; the first among equals. */
function runnerUpOf(pick: Endpoint, scored: readonly ScoredEndpoint[]): Endpoint | undefined {
  let best: ScoredEndpoint | undefined;
  for (const each of scored) {
    if (each.endpoint !== pick && (best === undefined || each.score > best.score)) best = each;
  }
  return best?.endpoint;
}
