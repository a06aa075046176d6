import { type Labels, labelsEnd, parseLabels } from './prometheus-labels.ts';

/** Which series to take: a metric's name, and labels it must carry. */
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

/** How far before its old place a line is looked for: a line above it got shorter, as one of numbers may. */
const BACK_BYTES = 256;

/**
 * Finds the series of one metric in a Prometheus text page without reading the rest of it. A page of an engine keeps
 * its shape from scrape to scrape, so each finder remembers where its lines were and looks from there first. Series
 * of one metric are taken to stand together, as the format demands. Bytes that make no sense are passed over; it
 * never throws.
 */
export class SeriesFinder {
  readonly #spec: SeriesSpec;
  readonly #name: Buffer;
  readonly #lineStart: Buffer;
  /** Where the first line was last time; a guess, always checked. */
  #guess = 0;
  /** The lines `samples` read last, and what it made of them: most series with much in their labels seldom change. */
  #lastLines: Buffer = Buffer.alloc(0);
  #lastSamples: readonly Sample[] = [];

  constructor(spec: SeriesSpec) {
    this.#spec = spec;
    this.#name = Buffer.from(spec.name);
    this.#lineStart = Buffer.from(`\n${spec.name}`);
  }

  /** The values of the wanted series combined into one; undefined where there is none that is a number of 0 or more. */
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

  /** Every wanted series that has a value, in page order. The same array as last time while its lines are the same. */
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
    // A copy: the page's memory is used again for the next page.
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

  /** Whether the line before is of this metric too, so that this one is not the first. */
  #follows(page: Buffer, at: number): boolean {
    for (let end = at; end >= 2; ) {
      const start = page.lastIndexOf(NEWLINE, end - 2) + 1;
      if (!isPassedOver(page, start)) return this.#isAt(page, start);
      end = start;
    }
    return false;
  }

  #next(page: Buffer, at: number): number {
    let next = lineEnd(page, at) + 1;
    while (next < page.length && isPassedOver(page, next)) next = lineEnd(page, next) + 1;
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

  /** Whether a line of this very metric, and not of one whose name begins like it, starts at `at`. */
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
    if (parsed === undefined || !carries(parsed.labels, this.#spec.labels)) return undefined;
    const value = numberAt(page, parsed.end, end);
    return value === undefined ? undefined : { labels: parsed.labels, value };
  }
}

/** The value of a line, its labels unread but for where they end. */
function readValue(page: Buffer, afterName: number): number | undefined {
  const end = lineEnd(page, afterName);
  const start = skipBlanks(page, afterName);
  if (page[start] !== OPEN_BRACE) return numberAt(page, start, end);
  const close = labelsEnd(page, start, end);
  return close < 0 ? undefined : numberAt(page, close, end);
}

/** The first word between `start` and `end`, as a number; a timestamp may follow it. */
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

/** An empty line or a comment may stand among the series of a metric. */
function isPassedOver(page: Buffer, at: number): boolean {
  const first = page[at];
  return first === HASH || first === NEWLINE || first === RETURN;
}

function carries(labels: Labels, wanted: Labels): boolean {
  for (const [name, value] of wanted) if (labels.get(name) !== value) return false;
  return true;
}
