import { ConfigError } from '../../../framework/error.ts';
import { namesInMessage } from '../columns/column-values.ts';
import { csvCells, SEPARATORS } from '../columns/csv-cells.ts';
import { columnsAdvice } from '../columns/trace-columns.ts';
import { AIBRIX } from '../formats/aibrix.ts';
import { AIPERF } from '../formats/aiperf.ts';
import { BAILIAN } from '../formats/bailian.ts';
import { COPILOT } from '../formats/copilot.ts';
import { AZURE, BURST_GPT, MULTI_ROUND_QA, SPLITWISE, VIDUR } from '../formats/csv.ts';
import { DYNAMO } from '../formats/dynamo.ts';
import { GUIDE_LLM } from '../formats/guidellm.ts';
import { INFERENCE_PERF } from '../formats/inference-perf.ts';
import { JAEGER } from '../formats/jaeger.ts';
import { LITELLM } from '../formats/litellm.ts';
import { MOONCAKE } from '../formats/mooncake-trace.ts';
import { noTraceOf, PLAIN_LINE } from '../formats/no-trace.ts';
import { OTEL } from '../formats/otel-spans.ts';
import { POINTSMAN } from '../formats/pointsman.ts';
import { SGLANG_BENCH } from '../formats/sglang-bench.ts';
import { VLLM_BENCH } from '../formats/vllm-bench.ts';
import type { TraceFormat } from '../trace-format.ts';

/**
 * All that can be read from text; captures are folders. The first one that recognizes a first line
 * has it: OpenTelemetry's lines may hold what others are recognized by.
 */
export const TRACE_FORMATS: readonly TraceFormat[] = [
  POINTSMAN,
  DYNAMO,
  OTEL,
  JAEGER,
  MOONCAKE,
  BAILIAN,
  AIBRIX,
  COPILOT,
  AZURE,
  BURST_GPT,
  SPLITWISE,
  VIDUR,
  MULTI_ROUND_QA,
  LITELLM,
  VLLM_BENCH,
  SGLANG_BENCH,
  GUIDE_LLM,
  AIPERF,
  INFERENCE_PERF,
];

const CSV_FORMATS = TRACE_FORMATS.flatMap(({ name, csvColumns = [] }) =>
  csvColumns.length === 0 ? [] : { name, csvColumns },
);

/** The line's characters that an error message contains at most. */
const EXCERPT_CHARS = 60;
/**
 * The format of a text with this first line, or the beginning of an array; `head`: the first bytes
 * of a text that begins with a brace alone. A string is an error message.
 */
export function findFormat(firstLine: string, head?: string): TraceFormat | string {
  const text = firstLine.trim();
  if (text === '') return 'is empty: it contains no request';
  const document = head === undefined ? undefined : documentOf(head);
  if (document !== undefined) return document;
  const found =
    TRACE_FORMATS.find((each) => typeof each.firstLine === 'function' && each.firstLine(text)) ??
    noTraceOf(text) ??
    TRACE_FORMATS.find((each) => each.firstLine === bracketOf(text));
  if (found !== undefined) return found;
  const excerpt = JSON.stringify(text.slice(0, EXCERPT_CHARS));
  const headers = CSV_FORMATS.map(({ name, csvColumns }) => `${name} (${csvColumns.join(', ')})`);
  const known = `neither JSON of objects nor a known CSV header: ${headers.join(' or ')}`;
  return `${excerpt} is ${known}; ${csvHint(text) ?? `${columnsAdvice(columnsIn(text))}, or ${PLAIN_LINE}`}; docs/trace-format.md has all formats`;
}

/** The format of a document over many lines that begins like this. */
function documentOf(head: string): TraceFormat | undefined {
  const known = TRACE_FORMATS.filter(
    ({ firstLine }) => typeof firstLine === 'function' && firstLine(head),
  );
  return (
    known.find(({ shape }) => typeof shape === 'object') ??
    known.find(({ shape }) => shape === 'lines-or-values')
  );
}

/** What may be the names of columns; none for what is no header. */
function columnsIn(text: string): readonly string[] {
  const names = SEPARATORS.map((mark) => csvCells(text, mark)).toSorted(
    (a, b) => b.length - a.length,
  )[0];
  return names === undefined || names.length < 2 ? [] : namesInMessage(names);
}

/** What is wrong with a line that is almost the header of a known CSV. */
function csvHint(text: string): string | undefined {
  const cells = text.split(/[,;\t|]/).map((cell) => cell.trim().replaceAll('"', ''));
  if (cells.length >= 3 && /^\d/.test(text)) {
    return 'it seems to begin with a request: put a line with the names of the columns above it';
  }
  const has = (names: readonly string[], wanted: readonly string[]): boolean =>
    wanted.every((name) => names.includes(name));
  const lower = cells.map((cell) => cell.toLowerCase());
  for (const { name, csvColumns } of CSV_FORMATS) {
    if (has(cells, csvColumns)) return `${name} separates its columns by commas: write these`;
    const wanted = csvColumns.map((column) => column.toLowerCase());
    if (has(lower, wanted)) return `write the columns of ${name} in the same letters, with commas`;
  }
  return undefined;
}

/** Undefined for lines of a log in text, which may begin with a time in brackets. */
function bracketOf(text: string): string | undefined {
  return /^(?:\{|\[\s*(?:\{|$))/.test(text) ? text[0] : undefined;
}

/** Throws ConfigError for an unknown name. */
export function formatNamed(name: string): TraceFormat {
  const format = TRACE_FORMATS.find((each) => each.name === name);
  if (format !== undefined) return format;
  const known = TRACE_FORMATS.map((each) => each.name).join(', ');
  throw new ConfigError('trace', [{ path: 'format', message: `${name} is none of ${known}` }]);
}
