import type { Endpoint } from '../../framework/endpoint.ts';
import type {
  ProfileRun,
  SchedulingContext,
  SchedulingProfile,
  ScoredEndpoint,
  Scorer,
  ScoreTerms,
  Totals,
} from '../../framework/scheduling.ts';
import { BestEndpoints } from './best-endpoints.ts';
import type { DecisionRing } from './decision-ring.ts';
import { LastNumbers, type Layout, type ScorerLayout, TERMS_MAX } from './layout.ts';
import { type SlotList, writeNumbers } from './numbers.ts';
import { firstSlots, KEPT, NO_NUMBER, NO_SLOT, TARGETS_MAX } from './record-format.ts';
import { SlotBuffer, writeSlots } from './slot-list.ts';

/** What a part of a run takes at most, apart from its lists. */
const PART_BYTES_MAX = 64;

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
  readonly last: LastNumbers;
}

/** Writes what profiles did, as `record-format.ts` has it; numbers each when first seen. */
export class RunWriter {
  readonly #ring: DecisionRing;
  #layout: Layout = [];
  readonly #profiles = new WeakMap<SchedulingProfile, KnownProfile>();
  readonly #kept = new SlotBuffer();
  readonly #best: BestEndpoints;
  readonly #bestSlots = new SlotBuffer();
  #values = new Float64Array(TERMS_MAX);

  /** For pools of more than `endpointsMax` only the scores of the best are written. */
  constructor(ring: DecisionRing, endpointsMax: number) {
    this.#ring = ring;
    this.#best = new BestEndpoints(endpointsMax);
  }

  /** The layout for a decision with so many profiles: a new one where numbers would run out. */
  layoutFor(profiles: number): Layout {
    if (this.#layout.length + profiles > NO_NUMBER) this.#layout = [];
    return this.#layout;
  }

  numberOf(profile: SchedulingProfile): number {
    return this.#known(profile).number;
  }

  write(run: ProfileRun, targets: readonly ScoredEndpoint[], candidates: SlotBuffer): void {
    const { log, first } = this.#ring;
    const profile = this.#known(run.profile);
    const { scorers, segment } = profile;
    profile.segment = first;
    log.reserve(PART_BYTES_MAX);
    log.u8(profile.number);
    if (segment !== first) for (const { last } of scorers) last.forget();
    const left = this.#writeFilters(run, candidates);
    if (left.count === 0) return;
    const best = this.#best.leavesOut(left.count) ? this.#best : undefined;
    this.#writeScores(run, targets, {
      best,
      scorers,
      left,
      slotsEnd: candidates.slotsEnd,
    });
    log.reserve(PART_BYTES_MAX);
    const count = Math.min(targets.length, TARGETS_MAX);
    log.u16(count);
    for (let at = 0; at < count; at++) log.u16((targets[at] as ScoredEndpoint).endpoint.slot);
    if (targets[0] === undefined) return;
    const pick = targets[0].endpoint;
    const runnerUp = best?.other(run.endpoints, pick) ?? runnerUpOf(pick, run);
    log.u16(runnerUp?.slot ?? NO_SLOT);
    for (const known of scorers) this.#writeTerms(known, run.context, pick, runnerUp);
  }

  #writeScores(
    run: ProfileRun,
    targets: readonly ScoredEndpoint[],
    {
      best,
      scorers,
      left,
      slotsEnd,
    }: {
      readonly best: BestEndpoints | undefined;
      readonly scorers: readonly KnownScorer[];
      readonly left: SlotList;
      readonly slotsEnd: number;
    },
  ): void {
    const { log } = this.#ring;
    let list = left;
    log.u8(best === undefined ? KEPT.all : KEPT.best);
    if (best !== undefined) {
      best.select(run, targets);
      list = this.#bestSlots.fillFrom(run.endpoints, best);
      log.reserve(PART_BYTES_MAX + 2 * list.count);
      writeSlots(log, list);
    }
    for (let at = 0; at < scorers.length; at++) {
      const { last } = scorers[at] as KnownScorer;
      last.reserve(slotsEnd);
      const numbers = run.scores[at] as readonly number[];
      if (best === undefined) this.#fillIn(numbers);
      else this.#fillInBest(numbers, best);
      writeNumbers(log, this.#values, list, last.scores);
    }
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
      writeSlots(log, left);
    }
    log.u8(NO_NUMBER);
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
    if (layout.terms.length === 0) layout.terms = Object.keys(terms).slice(0, TERMS_MAX);
    const places = firstSlots(layout.terms.length);
    log.reserve(PART_BYTES_MAX);
    log.u8(places.count);
    if (places.count === 0) return;
    this.#fillInTerms(terms, layout.terms);
    writeNumbers(log, this.#values, places, last.terms);
    if (runnerUp === undefined) return;
    this.#fillInTerms(termsOf(scorer, runnerUp, context), layout.terms);
    writeNumbers(log, this.#values, places, last.terms);
  }

  // Numbers of all kinds go through one typed array: with arrays of several kinds the writing of
  // numbers takes twice as long.
  #fillIn(numbers: readonly number[]): void {
    const count = numbers.length;
    if (count > this.#values.length) this.#values = new Float64Array(2 * count);
    for (let at = 0; at < count; at++) this.#values[at] = numbers[at] as number;
  }

  #fillInBest(numbers: readonly number[], { places, count }: BestEndpoints): void {
    if (count > this.#values.length) this.#values = new Float64Array(2 * count);
    for (let at = 0; at < count; at++) {
      this.#values[at] = numbers[places[at] as number] as number;
    }
  }

  /** Terms only say why, and seven digits do; as 64-bit floats they would be half of a record. */
  #fillInTerms(terms: ScoreTerms, names: readonly string[]): void {
    for (let at = 0; at < names.length; at++) {
      this.#values[at] = Math.fround(terms[names[at] as string] ?? Number.NaN);
    }
  }

  #known(profile: SchedulingProfile): KnownProfile {
    const known = this.#profiles.get(profile);
    if (known?.layout === this.#layout) return known;
    const scorers = profile.scorers.map(({ name, type, weight, scorer }) => ({
      scorer,
      layout: { name, type, weight, terms: [] },
      last: new LastNumbers(),
    }));
    const filters = profile.filters.map(({ name }) => name);
    const layouts = scorers.map(({ layout }) => layout);
    const number = this.#layout.push({ name: profile.name, filters, scorers: layouts }) - 1;
    const added = { layout: this.#layout, number, scorers, segment: Number.NaN };
    this.#profiles.set(profile, added);
    return added;
  }
}

/** Writes how many slots there are, and then each in two bytes. */
const NO_TERMS: ScoreTerms = {};

/**
 * There are no terms where the scorer does not explain, or throws: an explanation must not fail the
 * request.
 */
function termsOf(scorer: Scorer, endpoint: Endpoint, context: SchedulingContext): ScoreTerms {
  try {
    return scorer.explain?.(endpoint, context) ?? NO_TERMS;
  } catch {
    return NO_TERMS;
  }
}

/** The best endpoint that was not picked; the first among equals. */
function runnerUpOf(pick: Endpoint, { endpoints, totals }: Totals): Endpoint | undefined {
  let best = -1;
  for (let at = 0; at < endpoints.length; at++) {
    if (endpoints[at] === pick) continue;
    if (best < 0 || (totals[at] as number) > (totals[best] as number)) best = at;
  }
  return endpoints[best];
}
