import { ConfigError } from '../../../framework/error.ts';
import { objectOf } from '../../../framework/values/plain-object.ts';
import { AIPERF } from '../formats/aiperf.ts';
import { BAILIAN } from '../formats/bailian.ts';
import { COPILOT } from '../formats/copilot.ts';
import { AZURE, BURST_GPT, SPLITWISE, VIDUR } from '../formats/csv.ts';
import { INFERENCE_PERF } from '../formats/inference-perf.ts';
import { LITELLM } from '../formats/litellm.ts';
import { MOONCAKE } from '../formats/mooncake-trace.ts';
import { OTEL } from '../formats/otel-spans.ts';
import { POINTSMAN } from '../formats/pointsman.ts';
import type { TraceFormat } from '../trace-format.ts';

/**
 * All that can be read from text; captures are folders. The first one that recognizes a first line
 * has it: OpenTelemetry's lines may hold what others are recognized by.
 */
export const TRACE_FORMATS: readonly TraceFormat[] = [
  POINTSMAN,
  OTEL,
  MOONCAKE,
  BAILIAN,
  COPILOT,
  AZURE,
  BURST_GPT,
  SPLITWISE,
  VIDUR,
  LITELLM,
  AIPERF,
  INFERENCE_PERF,
];

/** The line's characters that an error message contains at most. */
const EXCERPT_CHARS = 60;
/** The fields that an error message names at most. */
const KEYS_MAX = 6;

/** Names by which data sets of prompts and conversations hold their texts. */
const TEXTS = /"(?:conversations?|messages|prompts?|turns|text)"\s*:/;
/** Names that only a line of Mooncake's has; a damaged one still has one of them. */
const MOONCAKE_FIELDS = /"(?:timestamp|input_length|output_length|hash_ids)"\s*:\s*[-\d[]/;
const NEEDS = 'a trace says when each request came and how many tokens it and its answer have';

/**
 * The format of a text with this first line, or the beginning of an array. A string is an error
 * message.
 */
export function findFormat(firstLine: string): TraceFormat | string {
  const text = firstLine.trim();
  if (text === '') return 'is empty: it contains no request';
  const found =
    TRACE_FORMATS.find((each) => typeof each.firstLine === 'function' && each.firstLine(text)) ??
    noTraceOf(text) ??
    TRACE_FORMATS.find((each) => each.firstLine === bracketOf(text));
  if (found !== undefined) return found;
  const headers = TRACE_FORMATS.flatMap(({ csvHeader }) => csvHeader ?? []).join(' or ');
  const excerpt = JSON.stringify(text.slice(0, EXCERPT_CHARS));
  return `${excerpt} is neither JSON of objects nor a known CSV header: ${headers}; docs/trace-format.md has all formats`;
}

/** Undefined for lines of a log in text, which may begin with a time in brackets. */
function bracketOf(text: string): string | undefined {
  return /^(?:\{|\[\s*(?:\{|$))/.test(text) ? text[0] : undefined;
}

/** Why JSON of no known format cannot be read; undefined for what may be damaged or Mooncake's. */
function noTraceOf(text: string): string | undefined {
  if (MOONCAKE_FIELDS.test(text) || /"start_time"\s*:\s*\d/.test(text)) return undefined;
  if (/^[{[]/.test(text) && TEXTS.test(text)) {
    return `these are texts, as ShareGPT's or those of a benchmark's data set, and no trace: ${NEEDS}; send them to a picker with \`serve --capture\`, and use its capture`;
  }
  const keys = keysOf(text);
  if (keys.length === 0) return undefined;
  const names = keys.slice(0, KEYS_MAX).join(', ');
  return `JSON with the fields ${names} is of no known format: ${NEEDS}; docs/trace-format.md has all formats, and --from names one`;
}

/** None for what is no JSON object. */
function keysOf(text: string): readonly string[] {
  try {
    return Object.keys(objectOf(JSON.parse(text)));
  } catch {
    return [];
  }
}

/** Throws ConfigError for an unknown name. */
export function formatNamed(name: string): TraceFormat {
  const format = TRACE_FORMATS.find((each) => each.name === name);
  if (format !== undefined) return format;
  const known = TRACE_FORMATS.map((each) => each.name).join(', ');
  throw new ConfigError('trace', [{ path: 'format', message: `${name} is none of ${known}` }]);
}
