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
    forBand: () => createBand(expectedCost, charges),
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

function createBand(costOf: ExpectedCost, charges: Map<string, Charge>): BandFairness {
  /** By fairness id. */
  const accounts = new Map<string, Account>();
  const flows = new IndexedHeap<Account>((a, b) =>
    a.counter === b.counter ? numberOf(a) < numberOf(b) : a.counter < b.counter,
  );
  let served = 0;
  let sweptAt = ACCOUNTS_SWEPT;

  function sweep(): void {
    forgetIdle(accounts, served);
    sweptAt = accounts.size + ACCOUNTS_SWEPT;
  }

  function accountOf(id: string): Account {
    const known = accounts.get(id);
    if (known !== undefined) return known;
    if (accounts.size >= sweptAt) sweep();
    const made: Account = { ...NEW_ACCOUNT, counter: served };
    accounts.set(id, made);
    return made;
  }

  function charge(request: InferenceRequest): void {
    const account = accountOf(request.fairnessId);
    const cost = costOf(request.fairnessId, request, account);
    served = Math.max(served, account.counter);
    account.counter += cost;
    account.inFlight += 1;
    charges.set(request.id, { account, cost, flows });
    if (flows.has(account)) flows.update(account);
  }

  return {
    changed(flow) {
      const account = accountOf(flow.id);
      if (flow.first === undefined) {
        flows.delete(account);
        if (flow.size === 0) account.waiting = undefined;
        return;
      }
      if (account.waiting === undefined) {
        const saved = SAVED_REQUESTS * costOf(flow.id, flow.first.waiting.request, account);
        account.counter = Math.max(account.counter, served - saved);
      }
      account.waiting = flow;
      flows.update(account);
    },
    next: () => flows.first?.waiting,
    placed: ({ waiting }: Item) => charge(waiting.request),
    placedElsewhere: charge,
  };
}

/** Forgets flows without requests, but for the latest `OWING_MAX` that had more than `served`. */
function forgetIdle(accounts: Map<string, Account>, served: number): void {
  const idle = [...accounts].filter(
    ([, { inFlight, waiting }]) => waiting === undefined && inFlight === 0,
  );
  const owing = idle.filter(([, { counter }]) => counter > served);
  const kept = new Set(owing.slice(-OWING_MAX).map(([id]) => id));
  for (const [id] of idle) if (!kept.has(id)) accounts.delete(id);
}

/** The number of the request that an account's flow has first. */
function numberOf({ waiting }: Account): number {
  return waiting?.first?.number ?? 0;
}
