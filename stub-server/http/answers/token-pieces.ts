import type { Answer } from './plan-answer.ts';

/** Real lateness of the engine per further token in a chunk: timers alone are 1 or 2 ms late. */
const LATE_MS = 20;

export interface PieceOptions {
  /** Whether the client has not taken what was sent before. */
  readonly behind: () => boolean;
  /** The current lateness of the engine, in real time. */
  readonly lateMs: () => number;
}

/** Texts of tokens that are sent together. */
export interface Piece {
  readonly tokens: readonly string[];
  readonly first: boolean;
  readonly last: boolean;
  /** Characters of the answer before it. */
  readonly offset: number;
}

/** Cuts an answer into pieces: one for each token, and more where client or server is slow. */
export class TokenPieces {
  readonly #answer: Answer;
  readonly #options: PieceOptions;
  #sent = 0;
  #characters = 0;

  constructor(answer: Answer, options: PieceOptions) {
    this.#answer = answer;
    this.#options = options;
  }

  /** What to send when `count` tokens are generated; undefined while it waits for more. */
  next(count: number): Piece | undefined {
    const last = count >= this.#answer.tokens;
    if (!last && (this.#options.behind() || this.#waits(count))) return undefined;
    const from = this.#sent;
    this.#sent = count;
    const tokens = Array.from({ length: count - from }, (_, at) => this.#answer.text(from + at));
    const offset = this.#characters;
    this.#characters += tokens.reduce((sum, token) => sum + token.length, 0);
    return { tokens, first: from === 0, last, offset };
  }

  /** Whether a token waits for the next. The first one does not: clients measure its time. */
  #waits(count: number): boolean {
    const together = 1 + Math.floor(this.#options.lateMs() / LATE_MS);
    return this.#sent > 0 && count - this.#sent < together;
  }
}
