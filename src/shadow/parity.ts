import type { Redecision } from '../capture/redecide.ts';
import { sameDecision } from '../capture/redecide.ts';

/** How a shadow compares, over all its decisions or those of one kind. */
export interface Parity {
  decisions: number;
  /** Sent to the same endpoint. */
  agreed: number;
  /** Where one of the two has refused and the other not. */
  disputed: number;
  /** With a prediction of both: how many, and the sums of predicted milliseconds to a first token. */
  predicted: number;
  primaryTtftMs: number;
  shadowTtftMs: number;
}

/** Kinds told apart; what comes later counts as `other`. */
const KINDS_MAX = 50;
/** Prompt lengths, in tokens, up to which a class goes. */
const LENGTHS: readonly (readonly [number, string])[] = [
  [1000, 'up to 1,000 tokens'],
  [8000, 'up to 8,000 tokens'],
  [Number.POSITIVE_INFINITY, 'over 8,000 tokens'],
];

export interface ParityReport {
  readonly all: Parity;
  /** By `model …`, `objective …` and prompt length. */
  readonly kinds: Readonly<Record<string, Parity>>;
}

/** Adds up how a shadow's decisions compare with those that were carried out. */
export class ParityTally {
  readonly #all: Parity = nothing();
  readonly #kinds = new Map<string, Parity>();

  add(each: Redecision): void {
    count(this.#all, each);
    const { model, objective, promptTokens } = each.request;
    const [, length = ''] = LENGTHS.find(([most]) => promptTokens <= most) ?? [];
    count(this.#kind(length), each);
    count(this.#kind(`model ${model}`), each);
    if (objective !== undefined) count(this.#kind(`objective ${objective}`), each);
  }

  report(): ParityReport {
    return { all: { ...this.#all }, kinds: Object.fromEntries(this.#kinds) };
  }

  #kind(name: string): Parity {
    const key = this.#kinds.has(name) || this.#kinds.size < KINDS_MAX ? name : 'other';
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const made = nothing();
    this.#kinds.set(key, made);
    return made;
  }
}

function nothing(): Parity {
  return { decisions: 0, agreed: 0, disputed: 0, predicted: 0, primaryTtftMs: 0, shadowTtftMs: 0 };
}

function count(parity: Parity, { was, is, ttftMs }: Redecision): void {
  parity.decisions += 1;
  if ('error' in was || 'error' in is) {
    if (sameDecision(was, is)) parity.agreed += 1;
    else parity.disputed += 1;
  } else if (was.endpoint === is.endpoint) parity.agreed += 1;
  if (ttftMs === undefined) return;
  parity.predicted += 1;
  parity.primaryTtftMs += ttftMs.was;
  parity.shadowTtftMs += ttftMs.is;
}
