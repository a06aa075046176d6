export type Labels = ReadonlyMap<string, string>;

const SPACE = 0x20;
const TAB = 0x09;
const COMMA = 0x2c;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** A series has some ten at most. Further ones make a line malformed. */
const LABELS_MAX = 64;

/** `{name="value",…}` at `start`; `end` is the index after it. Undefined where malformed. */
export function parseLabels(
  line: Buffer,
  start: number,
): { readonly labels: Labels; readonly end: number } | undefined {
  const labels = new Map<string, string>();
  if (line[start] !== OPEN_BRACE) return { labels, end: start };
  let at = start + 1;
  for (let count = 0; count <= LABELS_MAX; count++) {
    while (line[at] === SPACE || line[at] === TAB || line[at] === COMMA) at += 1;
    if (line[at] === CLOSE_BRACE) return { labels, end: at + 1 };
    const equals = line.indexOf(EQUALS, at);
    const open = equals < 0 ? -1 : line.indexOf(QUOTE, equals);
    const close = open < 0 ? -1 : closingQuote(line, open + 1);
    if (close < 0) return undefined;
    labels.set(line.toString('utf8', at, equals).trim(), unescape(line, open + 1, close));
    at = close + 1;
  }
  return undefined;
}

/** The index after the labels that begin at `start`; -1 where they do not end before `end`. */
export function labelsEnd(line: Buffer, start: number, end: number): number {
  let quoted = false;
  for (let at = start; at < end; at++) {
    const byte = line[at];
    if (byte === QUOTE) quoted = !quoted;
    else if (quoted && byte === BACKSLASH) at += 1;
    else if (!quoted && byte === CLOSE_BRACE) return at + 1;
  }
  return -1;
}

function closingQuote(line: Buffer, from: number): number {
  for (let at = from; at < line.length; at++) {
    if (line[at] === BACKSLASH) at += 1;
    else if (line[at] === QUOTE) return at;
  }
  return -1;
}

function unescape(line: Buffer, start: number, end: number): string {
  const text = line.toString('utf8', start, end);
  if (!text.includes('\\')) return text;
  return text.replace(/\\(.)/gs, (_, character: string) => (character === 'n' ? '\n' : character));
}
