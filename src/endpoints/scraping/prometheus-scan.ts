import { type Labels, labelsEnd, parseLabels } from './prometheus-labels.ts';

/** Selects series: the metric's name, and labels that a series must have. */
export interface SeriesSpec {
  readonly name: string;
  readonly labels: Labels;
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const OPEN_BRACE = 0x7b;
const SPACE = 0x20;
const TAB = 0x09;
const HASH = 0x23;

/** A search begins this far before a line's last place, as lines above it may get shorter. */
const BACK_BYTES = 256;

/**
 * Finds one metric's consecutive series in a Prometheus text page. An engine's page keeps its
 * shape, so it looks first where the lines were before. Skips malformed lines. Never throws.
 */
export class SeriesFinder {
  readonly #spec: SeriesSpec;
  readonly #name: Buffer;
  readonly #lineStart: Buffer;
  /** Where the first line was in the last page. Always checked. */
  #guess = 0;
  /** The lines that `samples` read last, and its result: series with long labels seldom change. */
  #lastLines: Buffer = Buffer.alloc(0);
  #lastSamples: readonly Sample[] = [];

  constructor(spec: SeriesSpec) {
    this.#spec = spec;
    this.#name = Buffer.from(spec.name);
    this.#lineStart = Buffer.from(`\n${spec.name}`);
  }

  /** Combines the values of the selected series that are 0 or more; undefined where none is. */
  combined(page: Buffer, combine: (a: number, b: number) => number): number | undefined {
    const anyLabels = this.#spec.labels.size === 0;
    let total: number | undefined;
    for (let at = this.#first(page); at >= 0; at = this.#next(page, at)) {
      const after = at + this.#name.length;
      const value = anyLabels ? readValue(page, after) : this.#read(page, after)?.value;
      if (value === undefined || !(value >= 0)) continue;
      total = total === undefined ? value : combine(total, value);
    }
    return total;
  }

  /** The selected series with a value, in page order. The same array while the lines are equal. */
  samples(page: Buffer): readonly Sample[] {
    const first = this.#first(page);
    if (first < 0) return this.#lastSamplesOf(Buffer.alloc(0), () => []);
    let end = first;
    const starts: number[] = [];
    for (let at = first; at >= 0; at = this.#next(page, at)) {
      starts.push(at);
      end = lineEnd(page, at);
    }
    return this.#lastSamplesOf(page.subarray(first, end), () =>
      starts.flatMap((at) => this.#read(page, at + this.#name.length) ?? []),
    );
  }

  #lastSamplesOf(lines: Buffer, read: () => readonly Sample[]): readonly Sample[] {
    if (lines.equals(this.#lastLines)) return this.#lastSamples;
    // A copy, as the next page uses the same memory.
    this.#lastLines = Buffer.from(lines);
    this.#lastSamples = read();
    return this.#lastSamples;
  }

  #first(page: Buffer): number {
    if (this.#isAt(page, this.#guess) && !this.#follows(page, this.#guess)) return this.#guess;
    const near = this.#search(page, this.#guess - BACK_BYTES);
    const at = near >= 0 && !this.#follows(page, near) ? near : this.#search(page, 0);
    if (at >= 0) this.#guess = at;
    return at;
  }

  /** Whether the line before is of this metric, too. */
  #follows(page: Buffer, at: number): boolean {
    for (let end = at; end >= 2; ) {
      const start = page.lastIndexOf(NEWLINE, end - 2) + 1;
      if (!isSkipped(page, start)) return this.#isAt(page, start);
      end = start;
    }
    return false;
  }

  #next(page: Buffer, at: number): number {
    let next = lineEnd(page, at) + 1;
    while (next < page.length && isSkipped(page, next)) next = lineEnd(page, next) + 1;
    return this.#isAt(page, next) ? next : -1;
  }

  #search(page: Buffer, from: number): number {
    if (from <= 0 && this.#isAt(page, 0)) return 0;
    let at = page.indexOf(this.#lineStart, Math.max(0, from));
    while (at >= 0) {
      if (this.#isAt(page, at + 1)) return at + 1;
      at = page.indexOf(this.#lineStart, at + 1);
    }
    return -1;
  }

  /** Whether a line of this metric, not of one with a longer name, starts at `at`. */
  #isAt(page: Buffer, at: number): boolean {
    const end = at + this.#name.length;
    if (end >= page.length || (at > 0 && page[at - 1] !== NEWLINE)) return false;
    const after = page[end];
    if (after !== OPEN_BRACE && after !== SPACE && after !== TAB) return false;
    return page.compare(this.#name, 0, this.#name.length, at, end) === 0;
  }

  #read(page: Buffer, afterName: number): Sample | undefined {
    const end = lineEnd(page, afterName);
    const parsed = parseLabels(page.subarray(0, end), skipBlanks(page, afterName));
    if (parsed === undefined || !hasLabels(parsed.labels, this.#spec.labels)) return undefined;
    const value = numberAt(page, parsed.end, end);
    return value === undefined ? undefined : { labels: parsed.labels, value };
  }
}

/** The value of a line, whose labels are skipped. */
function readValue(page: Buffer, afterName: number): number | undefined {
  const end = lineEnd(page, afterName);
  const start = skipBlanks(page, afterName);
  if (page[start] !== OPEN_BRACE) return numberAt(page, start, end);
  const close = labelsEnd(page, start, end);
  return close < 0 ? undefined : numberAt(page, close, end);
}

/** The first word between `start` and `end` as a number; a timestamp may follow it. */
function numberAt(page: Buffer, start: number, end: number): number | undefined {
  const from = skipBlanks(page, start);
  let to = from;
  while (to < end && !isBlank(page[to])) to += 1;
  if (to === from) return undefined;
  const text = page.toString('latin1', from, to);
  const value = Number(text);
  if (!Number.isNaN(value)) return value;
  if (/^\+?inf$/i.test(text)) return Number.POSITIVE_INFINITY;
  return /^-inf$/i.test(text) ? Number.NEGATIVE_INFINITY : undefined;
}

function lineEnd(page: Buffer, from: number): number {
  const newline = page.indexOf(NEWLINE, from);
  return newline < 0 ? page.length : newline;
}

function skipBlanks(page: Buffer, from: number): number {
  let at = from;
  while (page[at] === SPACE || page[at] === TAB) at += 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === RETURN;
}

/** Empty lines and comments may be among the series of a metric. */
function isSkipped(page: Buffer, at: number): boolean {
  const first = page[at];
  return first === HASH || first === NEWLINE || first === RETURN;
}

function hasLabels(labels: Labels, wanted: Labels): boolean {
  for (const [name, value] of wanted) if (labels.get(name) !== value) return false;
  return true;
}
