import type { InferenceRequest } from '../../../framework/request.ts';
import type { Served } from '../../discipline.ts';
import { IndexedHeap } from '../../indexed-heap.ts';
import type { BandFairness, Fairness } from './fairness.ts';
import type { Flow, Item } from './flow.ts';

export interface TokenCountersConfig {
  /** What one token of a prompt costs, and one of an answer. */
  readonly inputTokenWeight: number;
  readonly outputTokenWeight: number;
  /** The share of a fairness id: twice the weight, twice the tokens under contention. */
  readonly weightOf: (fairnessId: string) => number;
}

/** Length of an answer until the flow has had one. */
const OUTPUT_TOKENS_PRIOR = 256;
/** Weight of the newest answer of a flow. */
const ANSWER_WEIGHT = 0.1;
/**
 * After a pause a flow may be ahead by so many of its requests, as far as it has left its share
 * unused. Requests of a steady flow come by chance two or three at a time: without this, the second
 * would wait until a flow with a burst has got as much.
 */
const SAVED_REQUESTS = 8;
/** Accounts that nothing needs are looked for when there are so many more than before. */
const ACCOUNTS_SWEPT = 1000;
/** Accounts of flows without requests that are kept for what they owe: the newest ones. */
const OWING_MAX = 10_000;

/** What a flow has been charged. It is kept while it says more than that nothing is owed. */
interface Account {
  /** Cost over weight: the flow with the least is next. */
  counter: number;
  outputTokens: number;
  inFlight: number;
  /** The flow, while it has a request that can be placed. */
  waiting: Flow | undefined;
}

const NEW_ACCOUNT = { outputTokens: OUTPUT_TOKENS_PRIOR, inFlight: 0, waiting: undefined };

interface Charge {
  readonly account: Account;
  readonly cost: number;
  readonly flows: IndexedHeap<Account>;
}

/** The cost is divided by the weight of the fairness id. */
type ExpectedCost = (id: string, request: InferenceRequest, account: Account) => number;

/**
 * Shares by tokens: the flow whose tokens over its weight are least is next. A request is charged
 * with its prompt and an expected answer when it is placed, and with its real tokens when it ends.
 * A flow that comes back after a pause has saved up no more than a few requests.
 */
export function tokenCounters({
  inputTokenWeight,
  outputTokenWeight,
  weightOf,
}: TokenCountersConfig): Fairness {
  /** By request id. */
  const charges = new Map<string, Charge>();
  const costOf = (id: string, promptTokens: number, outputTokens: number): number =>
    Math.max(1, inputTokenWeight * promptTokens + outputTokenWeight * outputTokens) / weightOf(id);

  const expectedCost: ExpectedCost = (id, { promptTokens, outputTokensMax }, { outputTokens }) =>
    costOf(id, promptTokens, Math.min(outputTokens, outputTokensMax ?? outputTokens));

  return {
    forBand: () => new TokenCountersBand(expectedCost, charges),
    ended(request, { promptTokens, outputTokens }: Served) {
      const charge = charges.get(request.id);
      if (charge === undefined) return;
      charges.delete(request.id);
      const { account, cost, flows } = charge;
      account.inFlight -= 1;
      account.counter += costOf(request.fairnessId, promptTokens, outputTokens) - cost;
      account.outputTokens += ANSWER_WEIGHT * (outputTokens - account.outputTokens);
      if (flows.has(account)) flows.update(account);
    },
  };
}

/** The flows of one band of priority. */
class TokenCountersBand implements BandFairness {
  readonly #costOf: ExpectedCost;
  readonly #charges: Map<string, Charge>;
  readonly #accounts = new Accounts();
  readonly #flows = new IndexedHeap<Account>((a, b) =>
    a.counter === b.counter ? numberOf(a) < numberOf(b) : a.counter < b.counter,
  );
  /** The counter of the flow that was served last, or of one before it that was higher. */
  #served = 0;

  /** `charges` gets each request that is placed, by its id. */
  constructor(costOf: ExpectedCost, charges: Map<string, Charge>) {
    this.#costOf = costOf;
    this.#charges = charges;
  }

  changed(flow: Flow): void {
    const account = this.#accounts.of(flow.id, this.#served);
    if (flow.first === undefined) {
      this.#flows.delete(account);
      if (flow.size === 0) account.waiting = undefined;
      return;
    }
    if (account.waiting === undefined) {
      const saved = SAVED_REQUESTS * this.#costOf(flow.id, flow.first.waiting.request, account);
      account.counter = Math.max(account.counter, this.#served - saved);
    }
    account.waiting = flow;
    this.#flows.update(account);
  }

  next(): Flow | undefined {
    return this.#flows.first?.waiting;
  }

  placed({ waiting }: Item): void {
    this.placedElsewhere(waiting.request);
  }

  placedElsewhere(request: InferenceRequest): void {
    const account = this.#accounts.of(request.fairnessId, this.#served);
    const cost = this.#costOf(request.fairnessId, request, account);
    this.#served = Math.max(this.#served, account.counter);
    account.counter += cost;
    account.inFlight += 1;
    this.#charges.set(request.id, { account, cost, flows: this.#flows });
    if (this.#flows.has(account)) this.#flows.update(account);
  }
}

/** The accounts of a band's flows by fairness id, without those that say nothing any more. */
class Accounts {
  readonly #accounts = new Map<string, Account>();
  #sweptAt = ACCOUNTS_SWEPT;

  /** A new flow begins at `served`. */
  of(id: string, served: number): Account {
    const known = this.#accounts.get(id);
    if (known !== undefined) return known;
    if (this.#accounts.size >= this.#sweptAt) {
      this.#forgetIdle(served);
      this.#sweptAt = this.#accounts.size + ACCOUNTS_SWEPT;
    }
    const made: Account = { ...NEW_ACCOUNT, counter: served };
    this.#accounts.set(id, made);
    return made;
  }

  /** Forgets flows without requests, but for the latest `OWING_MAX` that had more than `served`. */
  #forgetIdle(served: number): void {
    const idle = [...this.#accounts].filter(
      ([, { inFlight, waiting }]) => waiting === undefined && inFlight === 0,
    );
    const owing = idle.filter(([, { counter }]) => counter > served);
    const kept = new Set(owing.slice(-OWING_MAX).map(([id]) => id));
    for (const [id] of idle) if (!kept.has(id)) this.#accounts.delete(id);
  }
}

/** The number of the request that an account's flow has first. */
function numberOf({ waiting }: Account): number {
  return waiting?.first?.number ?? 0;
}
