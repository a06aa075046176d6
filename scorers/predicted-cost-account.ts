import type { InFlightLoad } from '../src/framework/keys.ts';
import type { ScoreAccount, ScoreInputs } from '../src/framework/scheduling.ts';
import {
  decodeStepMs,
  predictedTtftMs,
  prefillSteps,
  type StepTime,
} from '../src/framework/step-time.ts';

/** Of KV memory: beyond it engines begin to preempt, and each preemption recomputes a whole request. */
const MEMORY_COMFORTABLE = 0.9;
/** Cost of a memory filled twice over that bound, from the policy study. */
const MEMORY_OVERFLOW_MS = 20_000;
/** Slows everybody on the endpoint a little, whatever else is true; breaks ties towards the emptier. */
const PER_REQUEST_MS = 0.2;

/** The request, as far as its cost goes. */
export interface Errand {
  readonly promptTokens: number;
  /** Of a millisecond that is spent on computing again what may be cached elsewhere. */
  readonly localityPrice: number;
}

/** An endpoint, as far as the cost of one request there goes. */
export interface Place {
  readonly load: InFlightLoad;
  readonly engine: StepTime;
  readonly cachedTokens: number;
  readonly capacityTokens: number;
  /** Until its adapter has a slot. */
  readonly adapterMs: number;
  /** For having failed of late. */
  readonly suspectMs: number;
  /** Its last sample is too old to go by. */
  readonly stale: boolean;
}

export function costMs({ promptTokens, localityPrice }: Errand, place: Place): number {
  const { load, engine, adapterMs, suspectMs } = place;
  const uncachedTokens = Math.max(0, promptTokens - place.cachedTokens);
  return (
    predictedTtftMs(load, uncachedTokens, engine) +
    localityPrice * engine.perPrefillTokenMs * uncachedTokens +
    memoryMs(promptTokens, place) +
    adapterMs +
    PER_REQUEST_MS * load.requests +
    suspectMs
  );
}

function memoryMs(promptTokens: number, { load, capacityTokens }: Place): number {
  const memory = (load.contextTokens + promptTokens) / capacityTokens;
  return MEMORY_OVERFLOW_MS * Math.max(0, memory - MEMORY_COMFORTABLE);
}

/** Least cost / cost; 0 where the sample is stale, unless all are. */
export function scoresOfCosts(costs: readonly number[], stale: Float64Array): readonly number[] {
  const known = costs.some((_cost, index) => stale[index] === 0);
  let least = Number.POSITIVE_INFINITY;
  costs.forEach((cost, index) => {
    if ((!known || stale[index] === 0) && cost < least) least = cost;
  });
  return costs.map((cost, index) => (!known || stale[index] === 0 ? least / cost : 0));
}

/** Those from `overheadMs` to `suspectMs`, the price left out, add up to `costMs`. */
const TERM_NAMES = [
  'cachedTokens',
  'overheadMs',
  'queuedPrefillMs',
  'ownPrefillMs',
  'stepsMs',
  'localityPrice',
  'lostLocalityMs',
  'memoryMs',
  'adapterMs',
  'crowdMs',
  'suspectMs',
  'stale',
  'costMs',
] as const;

function termsOf(errand: Errand, place: Place): readonly number[] {
  const { promptTokens, localityPrice } = errand;
  const { load, engine, cachedTokens, adapterMs, suspectMs, stale } = place;
  const uncachedTokens = Math.max(0, promptTokens - cachedTokens);
  const steps = prefillSteps(load.pendingPrefillTokens + uncachedTokens, engine);
  return [
    Math.min(cachedTokens, promptTokens),
    engine.overheadMs,
    engine.perPrefillTokenMs * load.pendingPrefillTokens,
    engine.perPrefillTokenMs * uncachedTokens,
    steps * decodeStepMs(load.requests, load.contextTokens, engine),
    localityPrice,
    localityPrice * engine.perPrefillTokenMs * uncachedTokens,
    memoryMs(promptTokens, place),
    adapterMs,
    PER_REQUEST_MS * load.requests,
    suspectMs,
    stale ? 1 : 0,
    costMs(errand, place),
  ];
}

/** Of `StepTime`. */
const ENGINE_FIELDS = 6;
/** Where it is in `ScoreInputs.seldom`. */
const STALE = 0;

/** What the costs of one cycle went by, in flat arrays that are used again for the next. */
export class CostInputs implements ScoreInputs {
  readonly cycle: Float64Array = new Float64Array(2);
  version = 0;
  #room = 0;
  #columns: PlaceColumns = placeColumns(0);
  #engines: (StepTime | undefined)[] = [];

  get endpoints(): readonly Float64Array[] {
    return this.#columns.often;
  }

  get seldom(): readonly Float64Array[] {
    return this.#columns.seldom;
  }

  get stale(): Float64Array {
    return this.#columns.stale;
  }

  /** Makes room for `count` endpoints. */
  begin(count: number, { promptTokens, localityPrice }: Errand): void {
    this.cycle[0] = promptTokens;
    this.cycle[1] = localityPrice;
    if (count <= this.#room) return;
    this.#room = 2 * count;
    this.#columns = placeColumns(this.#room);
    this.#engines = [];
    this.version += 1;
  }

  note(index: number, place: Place): void {
    const { load, engine } = place;
    const columns = this.#columns;
    columns.requests[index] = load.requests;
    columns.pending[index] = load.pendingPrefillTokens;
    columns.context[index] = load.contextTokens;
    columns.cached[index] = place.cachedTokens;
    const { capacityTokens, adapterMs, suspectMs } = place;
    const stale = place.stale ? 1 : 0;
    if (
      engine === this.#engines[index] &&
      columns.capacity[index] === capacityTokens &&
      columns.adapter[index] === adapterMs &&
      columns.suspect[index] === suspectMs &&
      columns.stale[index] === stale
    ) {
      return;
    }
    this.version += 1;
    columns.capacity[index] = capacityTokens;
    columns.adapter[index] = adapterMs;
    columns.suspect[index] = suspectMs;
    columns.stale[index] = stale;
    this.#engines[index] = engine;
    const fields = [
      engine.overheadMs,
      engine.baseMs,
      engine.perPrefillTokenMs,
      engine.perSequenceMs,
      engine.perContextTokenMs,
      engine.prefillTokensMax,
    ];
    fields.forEach((field, at) => {
      (columns.engine[at] as Float64Array)[index] = field;
    });
  }
}

interface PlaceColumns {
  readonly requests: Float64Array;
  readonly pending: Float64Array;
  readonly context: Float64Array;
  readonly cached: Float64Array;
  readonly adapter: Float64Array;
  readonly suspect: Float64Array;
  readonly stale: Float64Array;
  readonly capacity: Float64Array;
  readonly engine: readonly Float64Array[];
  readonly often: readonly Float64Array[];
  readonly seldom: readonly Float64Array[];
}

function placeColumns(room: number): PlaceColumns {
  const column = (): Float64Array => new Float64Array(room);
  const [requests, pending, context, cached] = [column(), column(), column(), column()];
  const [adapter, suspect, stale, capacity] = [column(), column(), column(), column()];
  const engine = Array.from({ length: ENGINE_FIELDS }, column);
  const often = [requests, pending, context, cached];
  const seldom = [stale, ...engine, capacity, adapter, suspect];
  const rest = { adapter, suspect, stale, capacity, engine, often, seldom };
  return { requests, pending, context, cached, ...rest };
}

function errandOf({ cycle: [promptTokens = 0, localityPrice = 0] }: ScoreInputs): Errand {
  return { promptTokens, localityPrice };
}

function placeOf({ endpoints, seldom }: ScoreInputs, index: number): Place {
  const [requests, pendingPrefillTokens, contextTokens, cachedTokens] = endpoints.map(
    (column) => column[index] ?? 0,
  ) as Numbers<4>;
  const [
    stale,
    overheadMs,
    baseMs,
    perPrefillTokenMs,
    perSequenceMs,
    perContextTokenMs,
    prefillTokensMax,
    capacityTokens,
    adapterMs,
    suspectMs,
  ] = seldom.map((column) => column[index] ?? 0) as Numbers<10>;
  return {
    load: { requests, pendingPrefillTokens, contextTokens },
    engine: {
      overheadMs,
      baseMs,
      perPrefillTokenMs,
      perSequenceMs,
      perContextTokenMs,
      prefillTokensMax,
    },
    cachedTokens,
    capacityTokens,
    adapterMs,
    suspectMs,
    stale: stale === 1,
  };
}

type Numbers<Length extends number, Some extends number[] = []> = Some['length'] extends Length
  ? Some
  : Numbers<Length, [...Some, number]>;

export function costAccount(inputs: CostInputs): ScoreAccount {
  return {
    inputs,
    termNames: TERM_NAMES,
    costTerm: 'costMs',
    scores(past, count) {
      const errand = errandOf(past);
      const costs = Array.from({ length: count }, (_, index) =>
        costMs(errand, placeOf(past, index)),
      );
      return scoresOfCosts(costs, past.seldom[STALE] ?? new Float64Array(count));
    },
    terms: (past, index) => termsOf(errandOf(past), placeOf(past, index)),
  };
}
