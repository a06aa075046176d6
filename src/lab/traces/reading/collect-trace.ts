import { countOf } from '../../../framework/values/grouped.ts';
import { RequestTable } from '../request-table.ts';
import type { IdRun } from '../table/id-runs.ts';
import { type TraceContent, TraceError, type TraceRequest } from '../trace.ts';
import { REQUESTS_MAX, type ReadResult, SKIPPED, type TraceReader } from '../trace-format.ts';
import { wholeMicros } from '../whole-micros.ts';
import { CountedLengths } from './answer-lengths.ts';

interface CollectOptions {
  readonly source: string;
  /** Skip and count bad lines and sort requests that are out of order, instead of throwing. */
  readonly lenient: boolean;
  /** Whether requests must be in the order of arrival. */
  readonly ordered: boolean;
  /** The format that the first line showed: a first record that does not fit may be of another. */
  readonly guess?: string | undefined;
  /** Whether the text is one JSON array. */
  readonly isArray?: boolean;
}

/** The mean of public chat traces (Azure 2023: 211, Mooncake: 343), where no answer's length is known. */
const UNKNOWN_TOKENS = 256;
/** Two years. A later time is damaged, and would make a simulation scrape its servers for years. */
const SPAN_MS_MAX = 2 * 366 * 86_400_000;
/** The year 2200 in milliseconds since 1970: no clock shows it, but one that counts in smaller units. */
const TIME_MS_MAX = 230 * 365.25 * 86_400_000;
const ADVICE = 'correct it, or use --lenient to skip bad lines and sort the others';

function readAs(guess: string, isArray: boolean): string {
  const lines = isArray
    ? "make lines of the JSON array, as most formats have one object on each (jq -c '.[]'), or "
    : '';
  return `it was read as ${guess}: name another format with --from, or columns with --columns, or ${lines}${ADVICE}`;
}

/** Gathers the requests of a trace and checks their order. Throws TraceError if not lenient. */
export class TraceCollector {
  readonly #options: CollectOptions;
  readonly #requests = new RequestTable();
  readonly #notes: string[] = [];
  #refused = 0;
  #firstRefused = '';
  #sortedIn = 0;
  #leftOut = 0;
  #firstMs = Number.NaN;
  /** The latest time of the requests that must be in order. */
  #latestMs = Number.NEGATIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;
  #sorted = true;
  /** Whether any request waits for an answer: such turns may be out of order. */
  #hasTurns = false;
  #line = 1;

  constructor(options: CollectOptions) {
    this.#options = options;
  }

  /** Adds what a reader returned for a line, and tells it the rows of the requests. */
  add(result: ReadResult, line: number, onRow?: TraceReader['onRow']): void {
    this.#line = line;
    if (typeof result === 'string') {
      this.refuse(result, line);
      return;
    }
    for (const each of 'atMs' in result ? [result] : result) {
      if (each === SKIPPED) this.#leftOut += 1;
      else {
        const row = this.addRequest(each, line);
        onRow?.(row);
      }
    }
  }

  /** Leaves out the requests of these rows, which other rows have already. */
  leaveOut(rows: readonly number[]): void {
    if (rows.length === 0) return;
    this.#requests.leaveOut(rows);
    this.note(`left out: ${countOf(rows.length, 'span')} of calls that other spans show, too`);
  }

  /** Skips a line that cannot be read. */
  refuse(message: string, line: number): void {
    this.#mustBeLenient(message, line);
    if (this.#refused === 0) this.#firstRefused = `line ${line}: ${message}`;
    this.#refused += 1;
    this.#line = line;
  }

  /** The requests so far, in the order in which they were added. */
  get table(): RequestTable {
    return this.#requests;
  }

  /** Whether so many requests are there, and none that comes before the last of them can follow. */
  hasFirst(count: number): boolean {
    return this.#requests.length >= count && this.#mayEndEarly;
  }

  /** Whether later lines have later requests. */
  get #mayEndEarly(): boolean {
    const { ordered, lenient } = this.#options;
    return ordered && !lenient && !this.#hasTurns;
  }

  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  /** The trace, with its first request at 0. Throws TraceError if there is no request. */
  trace(blockTokens: number): TraceContent {
    const { source } = this.#options;
    this.#noteRepairs();
    if (this.#requests.length === 0) {
      const why = ['there is no request in the whole trace', ...this.#notes].join('; ');
      throw new TraceError(source, this.#line, why);
    }
    if (!this.#sorted) this.#requests.sort();
    this.#requests.complete();
    this.#fillOutputs();
    const repaired = this.#refused + this.#sortedIn;
    return { blockTokens, requests: this.#requests, repaired, notes: this.#notes };
  }

  /** Returns its row, or undefined if it is left out. More may become known of it later. */
  addRequest(request: TraceRequest, line: number, runs?: readonly IdRun[]): number | undefined {
    const { source } = this.#options;
    const { atMs } = request;
    if (Number.isNaN(this.#firstMs) && atMs > TIME_MS_MAX) {
      this.refuse(`at ${atMs} ms, after the year 2200: check the unit of its times`, line);
      return undefined;
    }
    if (Number.isNaN(this.#firstMs)) this.#firstMs = atMs;
    if (!(Math.abs(atMs - this.#firstMs) <= SPAN_MS_MAX)) {
      const far = `at ${atMs} ms, more than two years from the first request`;
      this.refuse(`${far}: check the unit of its times`, line);
      return undefined;
    }
    this.#seeOrder(request, line);
    // Relative to the first request read, so that usually nothing has to be copied at the end.
    const sinceFirst = { ...request, atMs: wholeMicros(atMs - this.#firstMs) };
    const row = this.#requests.add(sinceFirst, runs);
    if (this.#requests.length > REQUESTS_MAX) {
      const advice = this.#mayEndEarly
        ? 'take the first ones with --requests'
        : 'shorten the trace';
      throw new TraceError(source, line, `more than ${REQUESTS_MAX} requests; ${advice}`);
    }
    return row;
  }

  #seeOrder({ atMs, thinkMs }: TraceRequest, line: number): void {
    if (atMs < this.#lastMs) this.#sorted = false;
    this.#lastMs = atMs;
    // A turn that waits for an answer may come before requests with earlier times.
    if (thinkMs !== undefined) {
      this.#hasTurns = true;
      return;
    }
    if (this.#options.ordered && atMs < this.#latestMs) {
      const early = Number((this.#latestMs - atMs).toFixed(3));
      this.#mustBeLenient(`at ${atMs} ms, ${early} ms before a request above`, line);
      this.#sortedIn += 1;
    }
    this.#latestMs = Math.max(this.#latestMs, atMs);
  }

  #mustBeLenient(message: string, line: number): void {
    const { lenient, source, guess, isArray = false } = this.#options;
    const isFirst = this.#requests.length === 0 && this.#leftOut === 0;
    const advice = isFirst && guess !== undefined ? readAs(guess, isArray) : ADVICE;
    if (!lenient) throw new TraceError(source, line, `${message}; ${advice}`);
  }

  #noteRepairs(): void {
    if (this.#refused > 0) {
      this.note(`lines left out: ${this.#refused}; the first, ${this.#firstRefused}`);
    }
    if (this.#sortedIn > 0) this.note(`requests sorted into order: ${this.#sortedIn}`);
    if (this.#leftOut > 0) {
      const what =
        this.#leftOut === 1
          ? '1 record, which contains'
          : `${this.#leftOut} records, which contain`;
      this.note(`left out: ${what} no request of known size`);
    }
  }

  /**
   * Answers of unknown length, which failed or whose clients left, get the median length, if
   * any is known.
   */
  #fillOutputs(): void {
    const requests = this.#requests;
    const known = new CountedLengths();
    const unknown: number[] = [];
    for (const row of requests.rows()) {
      const tokens = requests.outputTokensOf(row);
      if (Number.isNaN(tokens)) unknown.push(row);
      else known.add(tokens);
    }
    if (unknown.length === 0) return;
    const isKnown = known.count > 0;
    const tokens = isKnown ? known.median() : UNKNOWN_TOKENS;
    const why = isKnown ? 'the median' : 'because none is known';
    const answers = countOf(unknown.length, 'answer');
    this.note(`${answers} of unknown length: taken as ${tokens} tokens, ${why}`);
    for (const row of unknown) requests.setOutputTokens(row, tokens);
  }
}
