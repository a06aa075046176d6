import { TOKENS_MAX } from '../trace-format.ts';

/** What separates the values of a line. */
export const SEPARATORS = [',', ';', '\t', '|'] as const;
export type Separator = (typeof SEPARATORS)[number];

/** A value, in quotes or not, with the separator before it; a quote that does not end takes the rest. */
const CELL: Readonly<Record<Separator, RegExp>> = {
  ',': cellPattern(','),
  ';': cellPattern(';'),
  '\t': cellPattern('\\t'),
  '|': cellPattern('|'),
};

function cellPattern(mark: string): RegExp {
  const quoted = String.raw`"((?:[^"]|"")*)"\s*(?=[${mark}]|$)`;
  const plain = String.raw`([^${mark}]*"[^"]*$|[^${mark}]*)`;
  return new RegExp(String.raw`(?:^|[${mark}])[^\S${mark}]*(?:${quoted}|${plain})`, 'g');
}

/** Values in quotes may have separators; a quote in them is written twice. */
export function csvCells(line: string, separator: Separator = ','): readonly string[] {
  if (!line.includes('"')) return line.split(separator).map((cell) => cell.trim());
  return Array.from(line.matchAll(CELL[separator]), ([, quoted, plain = '']) =>
    (quoted?.replaceAll('""', '"') ?? plain).trim(),
  );
}

/** Whether the last value of a line begins with a quote that does not end on it. */
export function opensQuotes(values: readonly string[]): boolean {
  return values.at(-1)?.startsWith('"') === true;
}

/** Undefined for what is no whole number from 0 to the most tokens that a request may have. */
export function tokenCount(text: string): number | undefined {
  // pandas writes whole numbers with a point where its column has had an empty value.
  if (!/^\d{1,15}(\.0*)?$/.test(text)) return undefined;
  const tokens = Number(text);
  return tokens <= TOKENS_MAX ? tokens : undefined;
}

/** Digits, a point and an exponent: `Number` takes hexadecimal ones and an empty text, too. */
export function plainNumber(text: string): number {
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
}
