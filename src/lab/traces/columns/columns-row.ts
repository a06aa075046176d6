import { exactId, jsonValue } from '../json-fields.ts';
import type { TraceRequest } from '../trace.ts';
import { NO_TRACE_BLOCKS, type ReadResult, SKIPPED, TOKENS_MAX } from '../trace-format.ts';
import { utcMs } from '../utc-time.ts';
import { textOf } from './column-values.ts';
import { plainNumber, tokenCount } from './csv-cells.ts';
import type { TraceColumn, TraceColumns } from './trace-columns.ts';

/** A row: the value of a column, undefined where the row has none of this name, and all names. */
export interface NamedValues {
  readonly valueOf: (name: string) => unknown;
  readonly names: () => readonly string[];
}

/** Makes requests of rows whose columns the user has named. */
export class ColumnsRow {
  readonly #columns: TraceColumns;
  /** The columns that no row has had yet, with a value or without. */
  readonly #missing: Set<string>;

  constructor(columns: TraceColumns) {
    this.#columns = columns;
    this.#missing = new Set(Object.values(columns).map(({ name }) => name));
  }

  /** The named columns that no row has had. */
  get missing(): readonly string[] {
    return [...this.#missing];
  }

  read({ valueOf, names }: NamedValues): ReadResult {
    const { time, prompt, output, blocks } = this.#columns;
    for (const name of this.#missing) {
      if (valueOf(name) !== undefined) this.#missing.delete(name);
    }
    const size = textOf(valueOf(prompt.name));
    const promptTokens = tokenCount(size ?? '0');
    if (promptTokens === undefined) return noTokens(prompt, size, 1);
    // Calls that failed, and those of another kind, have no tokens.
    if (promptTokens === 0) return [SKIPPED];
    const lacking = [time, output].find(({ name }) => this.#missing.has(name));
    if (lacking !== undefined) return `has no ${lacking.name}; it has ${names().join(', ')}`;
    const atMs = timeOf(time, textOf(valueOf(time.name)));
    if (typeof atMs === 'string') return atMs;
    const answer = textOf(valueOf(output.name));
    const outputTokens = answer === undefined ? Number.NaN : tokenCount(answer);
    if (outputTokens === undefined) return noTokens(output, answer, 0);
    const blockIds =
      blocks === undefined ? NO_TRACE_BLOCKS : blocksOf(blocks, valueOf(blocks.name), promptTokens);
    if (typeof blockIds === 'string') return blockIds;
    const named = this.#named(valueOf);
    return typeof named === 'string'
      ? named
      : { atMs, promptTokens, outputTokens: Math.max(1, outputTokens), blockIds, ...named };
  }

  /** What a trace need not have. A string is an error message. */
  #named(
    valueOf: NamedValues['valueOf'],
  ): Pick<TraceRequest, 'model' | 'session' | 'priority' | 'fairnessId'> | string {
    const given = (column: TraceColumn | undefined): string | undefined =>
      column === undefined ? undefined : textOf(valueOf(column.name));
    const columns = this.#columns;
    const [session, fairnessId] = [given(columns.session), given(columns.fairnessId)];
    const rank = given(columns.priority);
    const priority = Number(rank ?? 0);
    if (!Number.isSafeInteger(priority)) {
      return `${columns.priority?.name}: ${JSON.stringify(rank)} is no priority, which is a whole number`;
    }
    return {
      model: given(columns.model) ?? '',
      ...(session !== undefined && { session }),
      ...(priority !== 0 && { priority }),
      ...(fairnessId !== undefined && { fairnessId }),
    };
  }
}

function noTokens({ name }: TraceColumn, text: string | undefined, least: number): string {
  return `${name}: ${JSON.stringify(text)} is not a whole number of tokens from ${least} to ${TOKENS_MAX}`;
}

/** Milliseconds. A string is an error message. */
function timeOf({ name, unitMs }: TraceColumn, text = ''): number | string {
  const value = `${name}: ${JSON.stringify(text)}`;
  const number = plainNumber(text);
  const dateMs = utcMs(text);
  if (unitMs === undefined && !Number.isNaN(number)) {
    return `${value} is a number, whose unit nothing says: write time_s=${name} in place of time=${name}, or time_ms, time_us, time_ns`;
  }
  if (unitMs !== undefined && !Number.isNaN(dateMs)) {
    return `${value} is a date, which has no unit: write time=${name}`;
  }
  const atMs = unitMs === undefined ? dateMs : unitMs * number;
  if (atMs >= 0) return atMs;
  return unitMs === undefined
    ? `${value} is not a date such as 2026-11-16T18:15:46.68Z, UTC without an offset`
    : `${value} is not a number of 0 or more`;
}

/** The ids of full blocks. A string is an error message. */
function blocksOf(
  { name, blockTokens }: TraceColumn & { readonly blockTokens: number },
  value: unknown,
  promptTokens: number,
): readonly (number | string)[] | string {
  const ids = typeof value === 'string' ? jsonValue(value || '[]') : (value ?? []);
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'number' || typeof id === 'string')) {
    return `${name}: is not a list of numbers or texts, one for each block of the prompt`;
  }
  const most = Math.ceil(promptTokens / blockTokens);
  if (ids.length > most) {
    return `${name}: has ${ids.length} blocks, but ${promptTokens} tokens are ${most} blocks of ${blockTokens}: does blocks_${blockTokens} say their size?`;
  }
  // The last one may stand for a block that is not full, which engines do not cache.
  const full = ids.slice(0, Math.floor(promptTokens / blockTokens)) as (number | string)[];
  return full.map((id) => (typeof id === 'number' ? exactId(id) : id));
}
