import type { StepTime } from '../src/framework/keys.ts';
import type { ScoreAccount, ScoreInputs } from '../src/framework/scheduling.ts';
import { type Bill, type Errand, emptyBill, type Place, reckon } from './predicted-cost-bill.ts';

/** Least cost / cost; 0 where the sample is stale, unless all are. */
export function scoresOfCosts(costs: readonly number[], stale: Float64Array): readonly number[] {
  const known = costs.some((_cost, index) => stale[index] === 0);
  let least = Number.POSITIVE_INFINITY;
  costs.forEach((cost, index) => {
    if ((!known || stale[index] === 0) && cost < least) least = cost;
  });
  return costs.map((cost, index) => (!known || stale[index] === 0 ? least / cost : 0));
}

const BILL_TERMS = Object.keys(emptyBill()) as readonly (keyof Bill)[];
/** Those of the bill add up to `costMs`. */
const TERM_NAMES = ['cachedTokens', ...BILL_TERMS, 'stale', 'costMs'];

function termsOf(errand: Errand, place: Place): readonly number[] {
  const bill = emptyBill();
  const cost = reckon(errand, place, bill);
  const cachedTokens = Math.min(place.cachedTokens, errand.promptTokens);
  return [cachedTokens, ...BILL_TERMS.map((term) => bill[term]), place.stale ? 1 : 0, cost];
}

/** Of `StepTime`. */
const ENGINE_FIELDS = 6;
/** Where it is in `ScoreInputs.seldom`. */
const STALE = 0;

/** What the costs of one cycle went by, in flat arrays that are used again for the next. */
export class CostInputs implements ScoreInputs {
  readonly cycle: Float64Array = new Float64Array(3);
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
  begin(count: number, { promptTokens, outputTokens, demandRate }: Errand): void {
    this.cycle[0] = promptTokens;
    this.cycle[1] = outputTokens;
    this.cycle[2] = demandRate;
    if (count <= this.#room) return;
    this.#room = 2 * count;
    this.#columns = placeColumns(this.#room);
    this.#engines = [];
    this.version += 1;
  }

  note(index: number, place: Place): void {
    const { load, engine, demand } = place;
    const columns = this.#columns;
    columns.requests[index] = load.requests;
    columns.pending[index] = load.pendingPrefillTokens;
    columns.context[index] = load.contextTokens;
    columns.cached[index] = place.cachedTokens;
    columns.held[index] = place.heldTokens;
    columns.sent[index] = demand.requests;
    columns.sentWork[index] = demand.workMs;
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
  readonly held: Float64Array;
  readonly sent: Float64Array;
  readonly sentWork: Float64Array;
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
  const [held, sent, sentWork] = [column(), column(), column()];
  const [adapter, suspect, stale, capacity] = [column(), column(), column(), column()];
  const engine = Array.from({ length: ENGINE_FIELDS }, column);
  const often = [requests, pending, context, cached, held, sent, sentWork];
  const seldom = [stale, ...engine, capacity, adapter, suspect];
  const rest = { adapter, suspect, stale, capacity, engine, often, seldom };
  return { requests, pending, context, cached, held, sent, sentWork, ...rest };
}

function errandOf({
  cycle: [promptTokens = 0, outputTokens = 0, demandRate = 0],
}: ScoreInputs): Errand {
  return { promptTokens, outputTokens, demandRate };
}

function placeOf({ endpoints, seldom }: ScoreInputs, index: number): Place {
  const [
    requests,
    pendingPrefillTokens,
    contextTokens,
    cachedTokens,
    heldTokens,
    sentRequests,
    sentWorkMs,
  ] = endpoints.map((column) => column[index] ?? 0) as Numbers<7>;
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
    demand: { requests: sentRequests, workMs: sentWorkMs },
    cachedTokens,
    capacityTokens,
    heldTokens,
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
      const bill = emptyBill();
      const costs = Array.from({ length: count }, (_, index) =>
        reckon(errand, placeOf(past, index), bill),
      );
      return scoresOfCosts(costs, past.seldom[STALE] ?? new Float64Array(count));
    },
    terms: (past, index) => termsOf(errandOf(past), placeOf(past, index)),
  };
}
