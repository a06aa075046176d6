import type { LineReader, TraceRequest } from './trace.ts';

/** A CSV format: the columns it needs, by name, in any order, and how its time is written. */
export interface CsvFormat {
  readonly name: string;
  readonly time: string;
  readonly prompt: string;
  readonly output: string;
  readonly model?: string;
  /** Milliseconds; NaN when it is not a time. */
  readonly timeMs: (text: string) => number;
}

/** Azure's 2023 and 2024 LLM inference traces. */
export const AZURE: CsvFormat = {
  name: 'Azure',
  time: 'TIMESTAMP',
  prompt: 'ContextTokens',
  output: 'GeneratedTokens',
  timeMs: utcMs,
};

/** BurstGPT's traces; time is in seconds since the trace began. */
export const BURST_GPT: CsvFormat = {
  name: 'BurstGPT',
  time: 'Timestamp',
  prompt: 'Request tokens',
  output: 'Response tokens',
  model: 'Model',
  timeMs: (text) => (text.trim() === '' ? Number.NaN : 1000 * Number(text)),
};

const FORMATS: readonly CsvFormat[] = [AZURE, BURST_GPT];

/** The format whose columns a header has, and a reader of the lines below it; undefined when none fits. */
export function csvReader(header: string): LineReader | undefined {
  const columns = cells(header);
  for (const format of FORMATS) {
    const needed = [format.time, format.prompt, format.output];
    if (needed.every((name) => columns.includes(name))) return lineReader(format, columns);
  }
  return undefined;
}

/** All column names that are understood, for a message. */
export function csvFormats(): string {
  return FORMATS.map(
    ({ name, time, prompt, output }) => `${name} (${time}, ${prompt}, ${output})`,
  ).join(' or ');
}

function lineReader(format: CsvFormat, columns: readonly string[]): LineReader {
  const place = {
    time: columns.indexOf(format.time),
    prompt: columns.indexOf(format.prompt),
    output: columns.indexOf(format.output),
    model: format.model === undefined ? -1 : columns.indexOf(format.model),
  };
  return (line): TraceRequest | string => {
    const values = cells(line);
    if (values.length !== columns.length) {
      return `${values.length} columns, where the header has ${columns.length}`;
    }
    const at = (index: number): string => values[index] ?? '';
    const atMs = format.timeMs(at(place.time));
    const promptTokens = count(at(place.prompt));
    const outputTokens = count(at(place.output));
    if (!Number.isFinite(atMs) || atMs < 0)
      return `${format.time}: ${at(place.time)} is not a time`;
    if (promptTokens === undefined || promptTokens === 0) {
      return `${format.prompt}: ${at(place.prompt)} is not a positive number of tokens`;
    }
    if (outputTokens === undefined) {
      return `${format.output}: ${at(place.output)} is not a number of tokens`;
    }
    const model = at(place.model);
    return { atMs, model, promptTokens, outputTokens: Math.max(1, outputTokens), blockIds: [] };
  };
}

/** None of the formats quotes its values. */
function cells(line: string): readonly string[] {
  return line.split(',').map((cell) => cell.trim());
}

function count(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** `2023-11-16 18:15:46.6805900`, read as UTC, to the ten-thousandth of a millisecond. */
function utcMs(text: string): number {
  const parts = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|\+00:00)?$/.exec(text);
  if (parts === null) return Number.NaN;
  const [, day = '', time = '', fraction = ''] = parts;
  return Date.parse(`${day}T${time}Z`) + (fraction === '' ? 0 : 1000 * Number(`0${fraction}`));
}
