import { countOf, grouped } from '../../framework/values/grouped.ts';
import { textTable } from '../../framework/values/text-table.ts';
import type { LiveEndpoint } from '../../serve/live/live-message.ts';

/** A column beside the names of endpoints. */
interface PoolColumn {
  readonly head: string;
  /** What its texts take at most in most pools: so much of a line is kept from the names. */
  readonly chars: number;
  readonly isText?: boolean;
  readonly textOf: (row: LiveEndpoint) => string;
}

const ROLE: PoolColumn = { head: 'role', chars: 7, isText: true, textOf: ({ role = '' }) => role };

const PREFILL: PoolColumn = {
  head: 'prefill',
  chars: 7,
  textOf: ({ prefillTokens }) => grouped(prefillTokens),
};
const RUNNING: PoolColumn = {
  head: 'running',
  chars: 7,
  textOf: ({ sample }) => countOrDash(sample?.running),
};
const AGE: PoolColumn = {
  head: 'age',
  chars: 7,
  textOf: ({ sample }) => (sample === null ? '-' : ms(sample.ageMs)),
};

const COLUMNS: readonly PoolColumn[] = [
  { head: 'state', chars: 11, isText: true, textOf: ({ state }) => state },
  ROLE,
  { head: 'in flight', chars: 9, textOf: inFlightText },
  PREFILL,
  RUNNING,
  { head: 'queue', chars: 5, textOf: ({ sample }) => countOrDash(sample?.waiting) },
  { head: 'KV', chars: 5, textOf: ({ sample }) => percent(sample?.kv ?? null) },
  { head: 'hits', chars: 5, textOf: ({ hitRate }) => percent(hitRate) },
  AGE,
];

/** What is left out, in this order, where a line has no room for it. */
const SPARE_FIRST: readonly PoolColumn[] = [AGE, PREFILL, RUNNING];

/** Numbers of an old sample read as those of now without their age. */
const SPARE_FIRST_BUT_AGE: readonly PoolColumn[] = [PREFILL, RUNNING, AGE];
/** What the picker itself takes for too old. */
const OLD_MS = 2000;

/** Spaces in front of each column of a table. */
const GAP_CHARS = 2;
/** An IPv4 address with its port. */
export const NAME_CHARS_MIN = 15;

/** The first of these endpoints, as many as `linesMax` lines have room for with what is wrong. */
export function fittingRows(
  rows: readonly LiveEndpoint[],
  linesMax: number,
): readonly LiveEndpoint[] {
  const causes = new Set<string>();
  let shown = 0;
  return rows.filter((row) => {
    if (row.why !== undefined) causes.add(causeOf(row));
    shown += 1;
    return shown + causes.size <= linesMax;
  });
}

/**
 * A table of these endpoints, and below it what is wrong with them. Names are cut to fit into
 * `lineChars`; where that is not enough, columns are left out rather than cut.
 */
export function poolLines(
  rows: readonly LiveEndpoint[],
  nameOf: (id: string) => string,
  lineChars: number,
): readonly string[] {
  if (rows.length === 0) return [];
  const hasRoles = rows.some(({ role }) => role !== undefined);
  const all = COLUMNS.filter((column) => hasRoles || column !== ROLE);
  const beside = all.reduce((sum, { chars }) => sum + GAP_CHARS + chars, GAP_CHARS);
  const shortName = ({ id }: LiveEndpoint): string =>
    ending(nameOf(id), Math.max(NAME_CHARS_MIN, lineChars - beside));
  const tableOf = (columns: readonly PoolColumn[]): readonly string[] => {
    const heads = ['endpoint', ...columns.map(({ head }) => head)];
    const cells = rows.map((row) => [shortName(row), ...columns.map(({ textOf }) => textOf(row))]);
    return textTable([heads, ...cells], 1 + columns.filter(({ isText }) => isText).length);
  };
  let columns = all;
  let table = tableOf(columns);
  for (const spare of rows.some(isOld) ? SPARE_FIRST_BUT_AGE : SPARE_FIRST) {
    if (table.every((line) => line.length <= lineChars)) break;
    columns = columns.filter((column) => column !== spare);
    table = tableOf(columns);
  }
  return [...table, ...causeLines(rows, shortName)];
}

function inFlightText({ inFlight, lost }: LiveEndpoint): string {
  return lost === undefined ? grouped(inFlight) : `${grouped(inFlight)}, ${grouped(lost)} lost`;
}

function isOld({ sample }: LiveEndpoint): boolean {
  return sample !== null && sample.ageMs > OLD_MS;
}

function countOrDash(count: number | undefined): string {
  return count === undefined ? '-' : grouped(count);
}

/** A line for each cause: where a rack is gone, many endpoints have the same one. */
function causeLines(
  rows: readonly LiveEndpoint[],
  nameOf: (row: LiveEndpoint) => string,
): readonly string[] {
  const troubled = rows.filter(({ why }) => why !== undefined);
  return [...Map.groupBy(troubled, causeOf)].flatMap(([cause, [first, ...others]]) => {
    if (first === undefined) return [];
    const name = nameOf(first);
    return others.length > 0
      ? [`  ${name} and ${countOf(others.length, 'other')} are ${cause}`]
      : [`  ${name} is ${first.state}: ${whyText(first.why ?? '', first)}`];
  });
}

/** What is wrong, without the address, so that it is the same for all endpoints that have it. */
function causeOf(row: LiveEndpoint): string {
  return `${row.state}: ${whyText(row.why ?? '', row).replace(` ${row.address}`, '')}`;
}

/** Why an endpoint is not well, without its address where a URL of it is named. */
function whyText(why: string, { address }: LiveEndpoint): string {
  return why.replace(`http://${address}/`, '/').replace(`https://${address}/`, '/');
}

/** A name without its beginning where it is long: the ends of names of pods differ. */
export function ending(name: string, chars: number): string {
  return name.length <= chars ? name : `…${name.slice(1 - chars)}`;
}

export function ms(value: number | null): string {
  if (value === null) return '-';
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return `${value.toFixed(value >= 100 ? 0 : 1)} ms`;
}

function percent(share: number | null): string {
  return share === null ? '-' : `${Math.round(100 * share)} %`;
}
