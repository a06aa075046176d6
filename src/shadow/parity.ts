import type { FirstToken, Redecision } from '../redecide/redecision.ts';
import { sameDecision } from '../redecide/redecision.ts';

/** How a shadow's decisions compare with the picker's, over all or over those of one kind. */
export interface Parity {
  decisions: number;
  /** Decisions for the same endpoint. */
  agreed: number;
  /** Decisions in which only one of the two refused the request. */
  disputed: number;
  /**
   * Counts how often the chosen endpoint has rank 1 to `PLACES` with the shadow, by rank minus 1.
   * Equal scores all have the best rank.
   */
  readonly placed: number[];
  /**
   * Decisions with a prediction, and their sums of predicted milliseconds to a first token: where
   * requests went, where the shadow would have sent them, and at the best endpoint.
   */
  predicted: number;
  primaryTtftMs: number;
  shadowTtftMs: number;
  bestTtftMs: number;
  /** First tokens that were seen, compared with their predictions. */
  readonly calibration: Calibration;
}

/** Sums over this many first tokens. */
export interface Calibration {
  firstTokens: number;
  predictedMs: number;
  observedMs: number;
  absoluteErrorMs: number;
}

/** Predictions up to a time and above that of the row before. */
export interface CalibrationRow extends Calibration {
  readonly upToMs: number;
}

export interface ParityReport {
  readonly all: Parity;
  /** By `model …`, `objective …` and prompt length. */
  readonly kinds: Readonly<Record<string, Parity>>;
  /** Over all decisions, by predicted time. Rows without a first token are left out. */
  readonly calibration: readonly CalibrationRow[];
}

/** Ranks that are counted. */
const PLACES = 5;
/** Kinds that are counted; later ones count as `other`. */
const KINDS_MAX = 50;
/** Classes of prompt lengths: the most tokens, and the name. */
const LENGTHS: readonly (readonly [tokensMax: number, name: string])[] = [
  [1000, 'up to 1,000 tokens'],
  [8000, 'up to 8,000 tokens'],
  [Number.POSITIVE_INFINITY, 'over 8,000 tokens'],
];
/** Rows go up to 1 ms, 2 ms, 4 ms … 17 minutes; the last includes everything beyond. */
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

  /** Adds the first token of any decision with a prediction. */
  firstToken(token: FirstToken): void {
    for (const { calibration } of this.#of(token.request)) calibrate(calibration, token);
    const place = Math.ceil(Math.log2(Math.max(1, token.predictedMs)));
    const row = this.#rows[Math.min(ROWS - 1, place)];
    if (row !== undefined) calibrate(row, token);
  }

  report(): ParityReport {
    return {
      all: this.#all,
      kinds: Object.fromEntries([...this.#kinds].toSorted(byKind)),
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

/** Prompt lengths first, from short to long; then models and objectives by name. */
function byKind([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  const rank = (name: string): number => {
    const at = LENGTHS.findIndex(([, length]) => length === name);
    return at < 0 ? LENGTHS.length : at;
  };
  return rank(a) - rank(b) || a.localeCompare(b);
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
