import { ConfigError } from '../../../framework/error.ts';
import { csvCells, opensQuotes, plainNumber, tokenCount } from '../columns/csv-cells.ts';
import type { TraceRequest } from '../trace.ts';
import type { TraceReader } from '../trace-format.ts';
import { NO_TRACE_BLOCKS, readerOf, TOKENS_MAX, type TraceFormat } from '../trace-format.ts';
import { utcMs, utcText } from '../utc-time.ts';

/** The columns of a CSV format by name, in any order, and how it writes times. */
interface CsvColumns {
  readonly time: string;
  readonly prompt: string;
  readonly output: string;
  readonly model?: string;
  readonly session?: string;
  /** Milliseconds; NaN if the text is not a time. */
  readonly timeMs: (text: string) => number;
  /** How the format writes times, for an error message. */
  readonly timeIs: string;
}

const SECONDS = 'a number of seconds since the trace began, such as 4.25';

const AZURE_COLUMNS: CsvColumns = {
  time: 'TIMESTAMP',
  prompt: 'ContextTokens',
  output: 'GeneratedTokens',
  timeMs: utcMs,
  timeIs: 'a time such as 2023-11-16 18:15:46.68, UTC without an offset',
};

const secondsMs = (text: string): number => 1000 * plainNumber(text);

/** Times are in seconds since the trace began. */
const BURST_GPT_COLUMNS: CsvColumns = {
  time: 'Timestamp',
  prompt: 'Request tokens',
  output: 'Response tokens',
  model: 'Model',
  session: 'Session ID',
  timeMs: secondsMs,
  timeIs: SECONDS,
};

/** Traces of Splitwise's simulator. */
const SPLITWISE_COLUMNS: CsvColumns = {
  time: 'arrival_timestamp',
  prompt: 'prompt_size',
  output: 'token_size',
  timeMs: secondsMs,
  timeIs: SECONDS,
};

/** Traces of Vidur's simulator and of Sarathi-Serve. */
const VIDUR_COLUMNS: CsvColumns = {
  time: 'arrived_at',
  prompt: 'num_prefill_tokens',
  output: 'num_decode_tokens',
  timeMs: secondsMs,
  timeIs: SECONDS,
};

/** What multi-round-qa, the benchmark of vLLM's production stack and of LMCache, saves of a run. */
const MULTI_ROUND_QA_COLUMNS: CsvColumns = {
  time: 'launch_time',
  prompt: 'prompt_tokens',
  output: 'generation_tokens',
  session: 'user_id',
  timeMs: secondsMs,
  timeIs: 'a number of seconds, such as 1760000000.25',
};

/** Azure's LLM inference traces of 2023 and 2024, and those of 2025, whose images count as tokens. */
export const AZURE: TraceFormat = {
  name: 'azure',
  about: 'Azure’s CSV of 2023, 2024 and 2025',
  carries: [],
  shape: 'lines',
  firstLine: (text) => missingIn(csvCells(text), AZURE_COLUMNS).length === 0,
  csvColumns: needed(AZURE_COLUMNS),
  ordered: true,
  reader: (header) => csvReader(header, AZURE_COLUMNS),
  *write({ requests }) {
    yield `TIMESTAMP,ContextTokens,GeneratedTokens\n`;
    for (const { atMs, promptTokens, outputTokens } of requests) {
      yield `${utcText(atMs)},${promptTokens},${outputTokens}\n`;
    }
  },
};

/** BurstGPT's traces, with or without sessions. */
export const BURST_GPT: TraceFormat = {
  name: 'burstgpt',
  about: 'BurstGPT’s CSV',
  carries: ['model', 'session'],
  shape: 'lines',
  firstLine: (text) => missingIn(csvCells(text), BURST_GPT_COLUMNS).length === 0,
  csvColumns: needed(BURST_GPT_COLUMNS),
  ordered: true,
  reader: (header) => csvReader(header, BURST_GPT_COLUMNS),
  *write({ requests }) {
    yield 'Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n';
    for (const { atMs, model, session = '', promptTokens, outputTokens, seen } of requests) {
      const elapsed = seen?.e2eMs === undefined ? '' : seen.e2eMs / 1000;
      const sizes = `${promptTokens},${outputTokens},${promptTokens + outputTokens}`;
      yield `${atMs / 1000},${cell(session)},${elapsed},${cell(model)},${sizes},${session === '' ? 'API log' : 'Conversation log'}\n`;
    }
  },
};

export const SPLITWISE: TraceFormat = readOnlyCsv(
  'splitwise',
  'the CSV of Splitwise’s simulator',
  SPLITWISE_COLUMNS,
);
export const VIDUR: TraceFormat = readOnlyCsv(
  'vidur',
  'the CSV of Vidur and Sarathi-Serve',
  VIDUR_COLUMNS,
);

/** Has the requests of each user together. */
export const MULTI_ROUND_QA: TraceFormat = {
  ...readOnlyCsv(
    'multi-round-qa',
    'the CSV of multi-round-qa, as vLLM’s production stack and LMCache have it',
    MULTI_ROUND_QA_COLUMNS,
  ),
  ordered: false,
};

function readOnlyCsv(name: string, about: string, columns: CsvColumns): TraceFormat {
  return {
    name,
    about,
    carries: columns.session === undefined ? [] : ['session'],
    shape: 'lines',
    firstLine: (text) => missingIn(csvCells(text), columns).length === 0,
    csvColumns: needed(columns),
    ordered: true,
    reader: (header) => csvReader(header, columns),
  };
}

function needed({ time, prompt, output }: CsvColumns): readonly string[] {
  return [time, prompt, output];
}

function missingIn(columns: readonly string[], wanted: CsvColumns): readonly string[] {
  return needed(wanted).filter((name) => !columns.includes(name));
}

function csvReader(header: string, wanted: CsvColumns): TraceReader | string {
  const columns = csvCells(header);
  const missing = missingIn(columns, wanted);
  if (missing.length > 0) return `the header has no column ${missing.join(', ')}`;
  const twice = needed(wanted).find((name) => columns.indexOf(name) < columns.lastIndexOf(name));
  if (twice !== undefined) return `the header has the column ${twice} more than once`;
  return { ...readerOf((line: string) => readRow(line, columns, wanted))(), hasHeader: true };
}

/** The request of a line, or what is wrong with it. */
function readRow(
  line: string,
  columns: readonly string[],
  wanted: CsvColumns,
): TraceRequest | string {
  const { time, prompt, output } = wanted;
  const values = csvCells(line);
  if (opensQuotes(values)) {
    return 'a value in quotes does not end on its line: write each request on one line';
  }
  if (values.length !== columns.length) {
    return `${values.length} columns, but the header has ${columns.length}`;
  }
  // Not by a default name: pandas writes its index as a column whose name is empty.
  const at = (column: string | undefined): string =>
    column === undefined ? '' : (values[columns.indexOf(column)] ?? '');
  const atMs = wanted.timeMs(at(time));
  const promptTokens = tokenCount(at(prompt));
  const outputTokens = tokenCount(at(output));
  if (!Number.isFinite(atMs) || atMs < 0) {
    return `${time}: ${JSON.stringify(at(time))} is not ${wanted.timeIs}`;
  }
  if (promptTokens === undefined || promptTokens === 0) {
    return `${prompt}: ${JSON.stringify(at(prompt))} is not a whole number of tokens from 1 to ${TOKENS_MAX}`;
  }
  if (outputTokens === undefined) {
    return `${output}: ${JSON.stringify(at(output))} is not a whole number of tokens from 0 to ${TOKENS_MAX}`;
  }
  const [model, session] = [at(wanted.model), at(wanted.session)];
  const sizes = {
    promptTokens,
    outputTokens: Math.max(1, outputTokens),
    blockIds: NO_TRACE_BLOCKS,
  };
  return { atMs, model, ...sizes, ...(session !== '' && { session }) };
}

/** Throws ConfigError for a text that would be read differently. */
function cell(text: string): string {
  if (!/[,\r\n]|^".*"$/.test(text) && text.trim() === text) return text;
  const message = `${JSON.stringify(text)} would need quotes, which the format lacks; use --to pointsman`;
  throw new ConfigError('burstgpt', [{ path: 'value', message }]);
}
