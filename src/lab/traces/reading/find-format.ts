import { ConfigError } from '../../../framework/error.ts';
import { AIPERF } from '../formats/aiperf.ts';
import { BAILIAN } from '../formats/bailian.ts';
import { AZURE, BURST_GPT } from '../formats/csv.ts';
import { INFERENCE_PERF } from '../formats/inference-perf.ts';
import { MOONCAKE } from '../formats/mooncake.ts';
import { OTEL } from '../formats/otel-spans.ts';
import { POINTSMAN } from '../formats/pointsman.ts';
import type { TraceFormat } from '../trace-format.ts';

/** All that can be read from text; captures are folders. */
export const TRACE_FORMATS: readonly TraceFormat[] = [
  POINTSMAN,
  MOONCAKE,
  BAILIAN,
  AZURE,
  BURST_GPT,
  AIPERF,
  INFERENCE_PERF,
  OTEL,
];

/** The format of a text with this first line. A string is an error message. */
export function findFormat(firstLine: string): TraceFormat | string {
  const text = firstLine.trim();
  if (text === '') return 'is empty: it contains no request';
  if (text.startsWith('[')) return /"?resourceSpans/.test(text) ? OTEL : INFERENCE_PERF;
  if (text.startsWith('{')) {
    // Without parsing, because the line may be damaged, or the first of a value over many lines.
    if (text === '{' || text.includes('"resourceSpans"')) return OTEL;
    if (text.startsWith('{"pointsman"')) return POINTSMAN;
    if (text.includes('"chat_id"') && text.includes('"hash_ids"')) return BAILIAN;
    return text.includes('"metadata"') && text.includes('"metrics"') ? AIPERF : MOONCAKE;
  }
  const csv = [AZURE, BURST_GPT].find(({ reader }) => typeof reader(text) !== 'string');
  return csv ?? `neither a JSON object nor a known CSV header: ${KNOWN_HEADERS}`;
}

const KNOWN_HEADERS =
  'Azure (TIMESTAMP, ContextTokens, GeneratedTokens) or BurstGPT (Timestamp, Request tokens, Response tokens)';

/** Throws ConfigError for an unknown name. */
export function formatNamed(name: string): TraceFormat {
  const format = TRACE_FORMATS.find((each) => each.name === name);
  if (format !== undefined) return format;
  const known = TRACE_FORMATS.map((each) => each.name).join(', ');
  throw new ConfigError('trace', [{ path: 'format', message: `${name} is none of ${known}` }]);
}
