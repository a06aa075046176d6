import type { FirstToken, Redecision } from '../redecide/redecision.ts';
import { sameDecision } from '../redecide/redecision.ts';

/** How a shadow compares, over all its decisions or those of one kind. */
export interface Parity {
  decisions: number;
  /** Sent to the same endpoint. */
  agreed: number;
  /** Where one of the two has refused and the other not. */
  disputed: number;
  /** How often the endpoint that was chosen is the shadow's first, second, … `PLACES`th; among equals it is the first of them. */
  readonly placed: number[];
  /**
   * With a prediction: how many, and the sums of predicted milliseconds to a first token where the request went, where the
   * shadow would have sent it, and at the endpoint where it would be least.
   */
  predicted: number;
  primaryTtftMs: number;
  shadowTtftMs: number;
  bestTtftMs: number;
  /** First tokens that came, with the sums of what was predicted of them, what came, and how far apart each time. */
  readonly calibration: Calibration;
}

/** Predictions beside what came: sums over so many first tokens. */
export interface Calibration {
  firstTokens: number;
  predictedMs: number;
  observedMs: number;
  absoluteErrorMs: number;
}

/** All predictions up to a time and above that of the row before. */
export interface CalibrationRow extends Calibration {
  readonly upToMs: number;
}

export interface ParityReport {
  readonly all: Parity;
  /** By `model …`, `objective …` and prompt length. */
  readonly kinds: Readonly<Record<string, Parity>>;
  /** Over all, by what was predicted; rows without a first token are left out. */
  readonly calibration: readonly CalibrationRow[];
}

/** Places told apart. */
export const PLACES = 5;
/** Kinds told apart; what comes later counts as `other`. */
const KINDS_MAX = 50;
/** Prompt lengths, in tokens, up to which a class goes. */
const LENGTHS: readonly (readonly [number, string])[] = [
  [1000, 'up to 1,000 tokens'],
  [8000, 'up to 8,000 tokens'],
  [Number.POSITIVE_INFINITY, 'over 8,000 tokens'],
];
/** Rows of the calibration go up to 1 ms, 2 ms, 4 ms … 17 minutes; the last has all beyond. */
const ROWS = 21;

/** Adds up how a shadow's decisions compare with those that were carried out. */
export class ParityTally {
  readonly #all: Parity = emptyParity();
  readonly #kinds = new Map<string, Parity>();
  readonly #rows = Array.from({ length: ROWS }, (_, at) => ({
    upToMs: 2 ** at,
    ...emptyCalibration(),
  }));

  add(each: Redecision): void {
    for (const parity of this.#of(each.request)) count(parity, each);
  }

  /** A first token of a decision that was added. */
  firstToken(token: FirstToken): void {
    for (const { calibration } of this.#of(token.request)) calibrate(calibration, token);
    const place = Math.ceil(Math.log2(Math.max(1, token.predictedMs)));
    const row = this.#rows[Math.min(ROWS - 1, place)];
    if (row !== undefined) calibrate(row, token);
  }

  report(): ParityReport {
    return {
      all: this.#all,
      kinds: Object.fromEntries(this.#kinds),
      calibration: this.#rows.filter(({ firstTokens }) => firstTokens > 0),
    };
  }

  #of({ model, objective, promptTokens }: Redecision['request']): readonly Parity[] {
    const [, length = ''] = LENGTHS.find(([most]) => promptTokens <= most) ?? [];
    const kinds = [length, model === '' ? 'no model named' : `model ${model}`];
    if (objective !== undefined) kinds.push(`objective ${objective}`);
    return [this.#all, ...kinds.map((name) => this.#kind(name))];
  }

  #kind(name: string): Parity {
    const key = this.#kinds.has(name) || this.#kinds.size < KINDS_MAX ? name : 'other';
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const made = emptyParity();
    this.#kinds.set(key, made);
    return made;
  }
}

function emptyParity(): Parity {
  return {
    decisions: 0,
    agreed: 0,
    disputed: 0,
    placed: Array.from({ length: PLACES }, () => 0),
    predicted: 0,
    primaryTtftMs: 0,
    shadowTtftMs: 0,
    bestTtftMs: 0,
    calibration: emptyCalibration(),
  };
}

function emptyCalibration(): Calibration {
  return { firstTokens: 0, predictedMs: 0, observedMs: 0, absoluteErrorMs: 0 };
}

function count(parity: Parity, { was, is, place, ttftMs }: Redecision): void {
  parity.decisions += 1;
  if ('error' in was || 'error' in is) {
    if (sameDecision(was, is)) parity.agreed += 1;
    else parity.disputed += 1;
  } else if (was.endpoint === is.endpoint) parity.agreed += 1;
  if (place !== undefined && place <= PLACES) {
    parity.placed[place - 1] = (parity.placed[place - 1] ?? 0) + 1;
  }
  if (ttftMs === undefined) return;
  parity.predicted += 1;
  parity.primaryTtftMs += ttftMs.was;
  parity.shadowTtftMs += ttftMs.is;
  parity.bestTtftMs += ttftMs.best;
}

function calibrate(calibration: Calibration, { predictedMs, observedMs }: FirstToken): void {
  calibration.firstTokens += 1;
  calibration.predictedMs += predictedMs;
  calibration.observedMs += observedMs;
  calibration.absoluteErrorMs += Math.abs(observedMs - predictedMs);
}
