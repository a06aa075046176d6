import {
  copyOf,
  isSkipped,
  LINE_BYTES_MAX,
  lineEnd,
  lineStart,
  NEWLINE,
  numberAt,
  OPEN_BRACE,
  readValue,
  SPACE,
  skipBlanks,
  TAB,
} from './page-lines.ts';
import { type Labels, parseLabels } from './prometheus-labels.ts';
import { type SeriesSpec, selectsEverySeries, selectsSeries } from './series-spec.ts';

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** A search begins this far before a line's last place, as lines above it may get shorter. */
const BACK_BYTES = 256;
/** Series of load are one for each engine of a server and model: some tens at most. */
export const SERIES_MAX = 1024;
/** vLLM adds a LoRA series for each set of adapters that ran together: thousands in some weeks. */
const LORA_SERIES_MAX = 16_384;
/** Series of one second: as many sets of adapters do not run within it. */
const ALIKE_MAX = 32;
/** Comments and empty lines among the series of a metric. Exporters write two at most. */
const SKIPPED_LINES_MAX = 16;
/** Series of metrics whose names begin with the one that is searched for. */
const LONGER_NAMES_MAX = 1024;

/**
 * A search for what a page does not have goes over all of it. While pages lack a series that says
 * nothing of the load, one page of so many is searched for it: it is found in less than half a
 * second where requests are.
 */
export const OPTIONAL_EVERY_PAGES = 8;

/** Walking over a line takes as long as searching this many bytes, at the worst. */
const WORK_PER_LINE = 4096;
/** Reading a byte of labels takes as long as searching this many bytes, at the worst. */
const WORK_PER_LABEL_BYTE = 32;

/** What reading pages took, in bytes that were searched: about 0.25 ns each. */
export interface ScanWork {
  bytes: number;
}

/**
 * Finds one metric's consecutive series in a Prometheus text page. An engine's page keeps its
 * shape, so it looks first where the lines were before. Skips malformed lines. Never throws. The
 * time it takes grows with the page's bytes and with nothing else.
 */
export class SeriesFinder {
  readonly #spec: SeriesSpec;
  readonly #anyLabels: boolean;
  readonly #work: ScanWork;
  readonly #name: Buffer;
  readonly #lineStart: Buffer;
  /** Where the first line was in the last page. Always checked. */
  #guess = 0;
  readonly #everyPages: number;
  /** So many pages are not searched. */
  #unsearched = 0;
  /** The line that was read last, and its sample: series with long labels seldom change. */
  #lastLine: Buffer = Buffer.alloc(0);
  #lastSample: Sample | undefined;

  /** `everyPages`: while pages lack the series, one of so many is searched for it. */
  constructor(spec: SeriesSpec, work: ScanWork = { bytes: 0 }, everyPages = 1) {
    this.#spec = spec;
    this.#anyLabels = selectsEverySeries(spec);
    this.#everyPages = everyPages;
    this.#work = work;
    this.#name = Buffer.from(spec.name);
    this.#lineStart = Buffer.from(`\n${spec.name}`);
  }

  get name(): string {
    return this.#spec.name;
  }

  /**
   * Combines the values of the selected series; undefined where there is none. A value that is not
   * 0 or more is returned as it is: NaN for a text, and for more than `SERIES_MAX` series.
   */
  combined(page: Buffer, combine: (a: number, b: number) => number): number | undefined {
    const anyLabels = this.#anyLabels;
    let total: number | undefined;
    let lines = 0;
    for (let at = this.#first(page); at >= 0; at = this.#next(page, at)) {
      lines += 1;
      if (lines > SERIES_MAX) return Number.NaN;
      const after = at + this.#name.length;
      const value = anyLabels ? readValue(page, after) : this.#read(page, after)?.value;
      // A line of this metric that cannot be read is not taken for one that is not there.
      if (value === undefined && anyLabels) return Number.NaN;
      if (value === undefined) continue;
      if (!(value >= 0)) return value;
      total = total === undefined ? value : combine(total, value);
    }
    return total;
  }

  /** How many different values the label with the most has among the selected series; at least 1. */
  distinct(page: Buffer, names: readonly string[]): number {
    const first = this.#first(page);
    // Most pages are of one engine: their labels are not read.
    if (first < 0 || this.#next(page, first) < 0) return 1;
    const values = names.map(() => new Set<string>());
    let lines = 0;
    for (let at = first; at >= 0 && lines < SERIES_MAX; at = this.#next(page, at)) {
      lines += 1;
      const labels = this.#read(page, at + this.#name.length)?.labels;
      names.forEach((name, index) => {
        const value = labels?.get(name);
        if (value !== undefined) values[index]?.add(value);
      });
    }
    return Math.max(1, ...values.map(({ size }) => size));
  }

  /** The first selected series. The same object while its line is the same. */
  first(page: Buffer): Sample | undefined {
    let lines = 0;
    for (let at = this.#first(page); at >= 0; at = this.#next(page, at)) {
      lines += 1;
      if (lines > SERIES_MAX) return undefined;
      const sample = this.#sampleAt(page, at);
      if (sample !== undefined && !Number.isNaN(sample.value)) return sample;
    }
    return undefined;
  }

  /**
   * The selected series with the largest value, at most `ALIKE_MAX` of those that share it. One alone
   * is the same object while its line is the same.
   */
  largest(page: Buffer): readonly Sample[] {
    const anyLabels = this.#anyLabels;
    const best: number[] = [];
    let bestValue = Number.NEGATIVE_INFINITY;
    let lines = 0;
    for (let at = this.#first(page); at >= 0; at = this.#next(page, at)) {
      lines += 1;
      if (lines > (anyLabels ? LORA_SERIES_MAX : SERIES_MAX)) return [];
      const after = at + this.#name.length;
      const value = anyLabels ? readValue(page, after) : this.#read(page, after)?.value;
      if (value === undefined || !(value >= bestValue) || value === Number.NEGATIVE_INFINITY) {
        continue;
      }
      if (value > bestValue) best.length = 0;
      if (best.length < ALIKE_MAX) best.push(at);
      bestValue = value;
    }
    return best.flatMap((at) => this.#sampleAt(page, at) ?? []);
  }

  #sampleAt(page: Buffer, at: number): Sample | undefined {
    const end = lineEnd(page, at);
    const { length } = this.#lastLine;
    if (end - at === length && page.compare(this.#lastLine, 0, length, at, end) === 0) {
      return this.#lastSample;
    }
    this.#lastSample = this.#read(page, at + this.#name.length);
    this.#lastLine = copyOf(page, at, this.#lastSample === undefined ? at : end);
    return this.#lastSample;
  }

  #first(page: Buffer): number {
    const near = this.#near(page);
    if (near >= 0) return this.#found(near);
    if (this.#unsearched > 0) {
      this.#unsearched -= 1;
      return -1;
    }
    const at = this.#searched(page);
    if (at < 0) this.#unsearched = this.#everyPages - 1;
    return at;
  }

  /** Where it was, or a few bytes from there, as values above it get longer and shorter; or -1. */
  #near(page: Buffer): number {
    const guess = this.#guess;
    if (this.#isFirst(page, guess)) return guess;
    if (guess >= page.length) return -1;
    const start = lineStart(page, guess);
    if (this.#isFirst(page, start)) return start;
    const next = lineEnd(page, guess) + 1;
    return this.#isFirst(page, next) ? next : -1;
  }

  #isFirst(page: Buffer, at: number): boolean {
    return this.#isAt(page, at) && !this.#follows(page, at);
  }

  #searched(page: Buffer): number {
    const from = Math.max(0, this.#guess - BACK_BYTES);
    const near = this.#search(page, from);
    if (from === 0) return this.#found(near);
    if (near >= 0 && !this.#follows(page, near)) return this.#found(near);
    // Only what the first search left out, and the line that begins where it began.
    const before = page.subarray(0, near >= 0 ? near : from + this.#lineStart.length + 1);
    const earlier = this.#search(before, 0);
    return this.#found(earlier >= 0 ? earlier : near);
  }

  #found(at: number): number {
    if (at >= 0) this.#guess = at;
    return at;
  }

  /** Whether the line before is of this metric, too. */
  #follows(page: Buffer, at: number): boolean {
    let end = at;
    for (let skipped = 0; end >= 2 && skipped <= SKIPPED_LINES_MAX; skipped++) {
      const start = lineStart(page, end - 1);
      if (!isSkipped(page, start)) return this.#isAt(page, start);
      end = start;
    }
    return false;
  }

  #next(page: Buffer, at: number): number {
    this.#work.bytes += WORK_PER_LINE;
    let next = lineEnd(page, at) + 1;
    for (let skipped = 0; next < page.length && isSkipped(page, next); skipped++) {
      if (skipped === SKIPPED_LINES_MAX) return -1;
      next = lineEnd(page, next) + 1;
    }
    return this.#isAt(page, next) ? next : -1;
  }

  #search(page: Buffer, from: number): number {
    if (from === 0 && this.#isAt(page, 0)) return 0;
    let at = page.indexOf(this.#lineStart, from);
    this.#work.bytes += (at < 0 ? page.length : at) - from;
    for (let longer = 0; at >= 0 && longer < LONGER_NAMES_MAX; longer++) {
      if (this.#isAt(page, at + 1)) return at + 1;
      const next = page.indexOf(this.#lineStart, at + 1);
      this.#work.bytes += WORK_PER_LINE + (next < 0 ? page.length : next) - at;
      at = next;
    }
    return -1;
  }

  /** Whether a line of this metric, not of one with a longer name, starts at `at`. */
  #isAt(page: Buffer, at: number): boolean {
    const end = at + this.#name.length;
    if (end >= page.length || (at > 0 && page[at - 1] !== NEWLINE)) return false;
    const after = page[end];
    if (after !== OPEN_BRACE && after !== SPACE && after !== TAB) return false;
    // From the end: names of one engine begin alike. A call of `compare` takes longer than this.
    const name = this.#name;
    for (let index = name.length - 1; index >= 0; index--) {
      if (page[at + index] !== name[index]) return false;
    }
    return true;
  }

  #read(page: Buffer, afterName: number): Sample | undefined {
    const end = lineEnd(page, afterName);
    if (end - afterName > LINE_BYTES_MAX) return undefined;
    this.#work.bytes += WORK_PER_LABEL_BYTE * (end - afterName);
    const parsed = parseLabels(page.subarray(0, end), skipBlanks(page, afterName));
    if (parsed === undefined || !selectsSeries(this.#spec, parsed.labels)) return undefined;
    return { labels: parsed.labels, value: numberAt(page, parsed.end, end) ?? Number.NaN };
  }
}

/** Makes the finder of the series that a specification names. */
export type FinderOf = (spec: string, everyPages?: number) => SeriesFinder;
