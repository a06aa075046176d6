/** Which series to take: a metric's name, and labels it must carry. */
export interface SeriesSpec {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
}

export interface Sample {
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const NEWLINE = 0x0a;
const OPEN_BRACE = 0x7b;
const SPACE = 0x20;
const TAB = 0x09;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds the series of one metric in a Prometheus text page without reading the rest of it. A page of an engine keeps
 * its shape from scrape to scrape, so each finder remembers where its line was and looks there first. Bytes that
 * make no sense are passed over; it never throws.
 */
export class SeriesFinder {
  readonly #spec: SeriesSpec;
  readonly #name: Buffer;
  readonly #lineStart: Buffer;
  /** Where the first line was last time; a guess, always checked. */
  #guess = 0;

  constructor(spec: SeriesSpec) {
    this.#spec = spec;
    this.#name = Buffer.from(spec.name);
    this.#lineStart = Buffer.from(`\n${spec.name}`);
  }

  /** Every sample of the metric that carries the spec's labels, in page order. */
  samples(page: Buffer): readonly Sample[] {
    const found: Sample[] = [];
    for (let at = this.#first(page); at >= 0; at = this.#next(page, at)) {
      const sample = readSample(page, at + this.#name.length);
      if (sample !== undefined && carries(sample.labels, this.#spec.labels)) found.push(sample);
    }
    return found;
  }

  #first(page: Buffer): number {
    if (this.#isAt(page, this.#guess) && !this.#follows(page, this.#guess)) return this.#guess;
    const at = this.#isAt(page, 0) ? 0 : this.#search(page, 0);
    if (at >= 0) this.#guess = at;
    return at;
  }

  /** Whether the line before is of this metric too, so that this one is not the first. */
  #follows(page: Buffer, at: number): boolean {
    if (at < 2) return false;
    return this.#isAt(page, page.lastIndexOf(NEWLINE, at - 2) + 1);
  }

  /** Series of one metric stand together, by the format's rules; after a gap there are no more. */
  #next(page: Buffer, at: number): number {
    const newline = page.indexOf(NEWLINE, at);
    if (newline < 0) return -1;
    return this.#isAt(page, newline + 1) ? newline + 1 : -1;
  }

  #search(page: Buffer, from: number): number {
    for (let at = page.indexOf(this.#lineStart, from); at >= 0; ) {
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
}

/** `{labels} value [timestamp]` from just after the name. */
function readSample(page: Buffer, start: number): Sample | undefined {
  const newline = page.indexOf(NEWLINE, start);
  const line = page.subarray(start, newline < 0 ? page.length : newline);
  const labels = new Map<string, string>();
  const valueAt = line[0] === OPEN_BRACE ? readLabels(line, labels) : 0;
  if (valueAt < 0) return undefined;
  const [text = ''] = line.toString('latin1', valueAt).trim().split(/[ \t]/, 1);
  const value = numberOf(text);
  return value === undefined ? undefined : { labels, value };
}

/** Returns where the value begins, or -1 when the labels never end. */
function readLabels(line: Buffer, into: Map<string, string>): number {
  let at = 1;
  for (;;) {
    while (line[at] === SPACE || line[at] === 0x2c) at += 1;
    if (line[at] === 0x7d) return at + 1;
    const equals = line.indexOf(0x3d, at);
    const open = equals < 0 ? -1 : line.indexOf(QUOTE, equals);
    if (open < 0) return -1;
    const close = closingQuote(line, open + 1);
    if (close < 0) return -1;
    const name = line.toString('utf8', at, equals).trim();
    into.set(name, unescapeLabel(line.toString('utf8', open + 1, close)));
    at = close + 1;
  }
}

function closingQuote(line: Buffer, from: number): number {
  for (let at = from; at < line.length; at++) {
    if (line[at] === BACKSLASH) at += 1;
    else if (line[at] === QUOTE) return at;
  }
  return -1;
}

function unescapeLabel(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(.)/gs, (_, character: string) => (character === 'n' ? '\n' : character));
}

function numberOf(text: string): number | undefined {
  if (text === '') return undefined;
  if (/^[+-]?inf$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  const value = Number(text);
  return Number.isNaN(value) ? undefined : value;
}

function carries(
  labels: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): boolean {
  for (const [name, value] of wanted) if (labels.get(name) !== value) return false;
  return true;
}
