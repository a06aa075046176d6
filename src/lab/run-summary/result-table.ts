import type { PrefillResult, RequestResult, RequestResults } from './run-result.ts';

/** The server of a row whose prompt no other server computed. */
const NOWHERE = -1;

/**
 * Results as columns of numbers, 43 bytes for each (51 where prompts are computed elsewhere), in place of 300 and more as objects with their
 * requests. Each is made when it is asked for, with the sizes of its request alone.
 */
export class ResultTable implements RequestResults {
  readonly #atMs: Float64Array;
  readonly #promptTokens: Uint32Array;
  readonly #outputTokens: Uint32Array;
  readonly #server: Int32Array;
  readonly #attempts: Uint8Array;
  readonly #ttftMs: Float64Array;
  readonly #e2eMs: Float64Array;
  readonly #cachedTokens: Uint32Array;
  readonly #completed: Uint8Array;
  /** Both are made for the first prompt that another server computes. */
  #prefillServer: Int32Array | undefined;
  #prefillCached: Uint32Array | undefined;
  #length = 0;

  constructor(rowsMax: number) {
    this.#atMs = new Float64Array(rowsMax);
    this.#promptTokens = new Uint32Array(rowsMax);
    this.#outputTokens = new Uint32Array(rowsMax);
    this.#server = new Int32Array(rowsMax);
    this.#attempts = new Uint8Array(rowsMax);
    this.#ttftMs = new Float64Array(rowsMax);
    this.#e2eMs = new Float64Array(rowsMax);
    this.#cachedTokens = new Uint32Array(rowsMax);
    this.#completed = new Uint8Array(rowsMax);
  }

  get length(): number {
    return this.#length;
  }

  /** The row has this result from here on. Rows are added in order. */
  keep(row: number, result: RequestResult): void {
    const { request } = result;
    this.#length = Math.max(this.#length, row + 1);
    this.#atMs[row] = request.atMs;
    this.#promptTokens[row] = request.promptTokens;
    this.#outputTokens[row] = request.outputTokens;
    this.#server[row] = result.server;
    this.#attempts[row] = result.attempts;
    this.#ttftMs[row] = result.ttftMs;
    this.#e2eMs[row] = result.e2eMs;
    this.#cachedTokens[row] = result.cachedTokens;
    this.#completed[row] = Number(result.completed);
    if (result.prefill !== undefined) this.#keepPrefill(row, result.prefill);
  }

  #keepPrefill(row: number, { server, cachedTokens }: PrefillResult): void {
    const rows = this.#completed.length;
    this.#prefillServer ??= new Int32Array(rows).fill(NOWHERE);
    this.#prefillCached ??= new Uint32Array(rows);
    this.#prefillServer[row] = server;
    this.#prefillCached[row] = cachedTokens;
  }

  #prefillOf(row: number): PrefillResult | undefined {
    const server = this.#prefillServer?.[row] ?? NOWHERE;
    if (server === NOWHERE) return undefined;
    return { server, cachedTokens: this.#prefillCached?.[row] ?? 0 };
  }

  at(index: number): RequestResult | undefined {
    const row = index < 0 ? index + this.#length : index;
    return row < 0 || row >= this.#length ? undefined : this.#resultOf(row);
  }

  *[Symbol.iterator](): Generator<RequestResult, undefined> {
    for (let row = 0; row < this.#length; row++) yield this.#resultOf(row);
    return undefined;
  }

  #resultOf(row: number): RequestResult {
    const prefill = this.#prefillOf(row);
    return {
      request: {
        atMs: this.#atMs[row] as number,
        promptTokens: this.#promptTokens[row] as number,
        outputTokens: this.#outputTokens[row] as number,
      },
      server: this.#server[row] as number,
      attempts: this.#attempts[row] as number,
      ttftMs: this.#ttftMs[row] as number,
      e2eMs: this.#e2eMs[row] as number,
      cachedTokens: this.#cachedTokens[row] as number,
      completed: this.#completed[row] === 1,
      ...(prefill !== undefined && { prefill }),
    };
  }
}
