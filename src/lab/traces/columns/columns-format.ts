import { isPlainObject } from '../../../framework/values/plain-object.ts';
import { jsonValue } from '../json-fields.ts';
import {
  BLOCK_TOKENS_WITHOUT_IDS,
  type ReadResult,
  type TraceFormat,
  type TraceReader,
} from '../trace-format.ts';
import { fieldNames, fieldOf, namesInMessage } from './column-values.ts';
import { ColumnsRow } from './columns-row.ts';
import { csvCells, opensQuotes, SEPARATORS, type Separator } from './csv-cells.ts';
import type { TraceColumns } from './trace-columns.ts';

/** The line's characters that an error message contains at most. */
const EXCERPT_CHARS = 60;

/** The format of a file whose columns, or fields of JSON, the user has named. */
export function columnsFormat(columns: TraceColumns, firstLine: string): TraceFormat {
  const isJson = /^\s*[[{]/.test(firstLine);
  return {
    name: 'columns',
    about: 'a CSV or JSON whose columns are named by --columns',
    carries: [],
    shape: isJson ? 'lines-or-values' : 'rows',
    firstLine: () => false,
    // Logs are written as requests end, and exports often have the latest first.
    ordered: false,
    reader: isJson ? () => jsonReader(columns) : (header) => tableReader(columns, header),
  };
}

function jsonReader(columns: TraceColumns): TraceReader {
  const row = new ColumnsRow(columns);
  let first: readonly string[] = [];
  const read = (text: string): ReadResult => {
    const value = jsonValue(text);
    if (!isPlainObject(value)) {
      return `not a JSON object: ${JSON.stringify(text.slice(0, EXCERPT_CHARS))}`;
    }
    if (first.length === 0) first = fieldNames(value);
    return row.read({
      valueOf: (name) => fieldOf(value, name),
      names: () => fieldNames(value),
    });
  };
  const notes = (): readonly string[] =>
    row.missing.map((name) => `no record has the field ${name}: the first has ${first.join(', ')}`);
  return { blockTokens: columns.blocks?.blockTokens ?? BLOCK_TOKENS_WITHOUT_IDS, read, notes };
}

/** A string is an error message. */
function tableReader(columns: TraceColumns, header: string): TraceReader | string {
  const wanted = Object.values(columns).map(({ name }) => name);
  const lacking = (separator: Separator): readonly string[] => {
    const names = csvCells(header, separator);
    return wanted.filter((name) => !names.includes(name));
  };
  const separator = SEPARATORS.toSorted((a, b) => lacking(a).length - lacking(b).length)[0] ?? ',';
  const names = csvCells(header, separator);
  const missing = lacking(separator);
  if (missing.length > 0) {
    return `the header has no column ${missing.join(', ')}; it has ${namesInMessage(names).join(', ')}`;
  }
  const twice = wanted.find((name) => names.indexOf(name) < names.lastIndexOf(name));
  if (twice !== undefined) return `the header has the column ${twice} more than once`;
  const places = new Map(names.map((name, place) => [name, place]));
  const row = new ColumnsRow(columns);
  const read = (line: string): ReadResult => {
    const values = csvCells(line, separator);
    if (opensQuotes(values)) return 'a value in quotes does not end';
    if (values.length !== names.length) {
      return `${values.length} columns, but the header has ${names.length}`;
    }
    return row.read({
      valueOf: (name) => values[places.get(name) ?? -1] ?? '',
      names: () => names,
    });
  };
  return {
    blockTokens: columns.blocks?.blockTokens ?? BLOCK_TOKENS_WITHOUT_IDS,
    hasHeader: true,
    read,
  };
}
