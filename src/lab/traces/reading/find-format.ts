import { ConfigError } from '../../../framework/error.ts';
import { AIPERF } from '../formats/aiperf.ts';
import { BAILIAN } from '../formats/bailian.ts';
import { COPILOT } from '../formats/copilot.ts';
import { AZURE, BURST_GPT } from '../formats/csv.ts';
import { INFERENCE_PERF } from '../formats/inference-perf.ts';
import { MOONCAKE } from '../formats/mooncake.ts';
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
  AIPERF,
  INFERENCE_PERF,
];

/** The line's characters that an error message contains at most. */
const EXCERPT_CHARS = 60;

/** The format of a text with this first line. A string is an error message. */
export function findFormat(firstLine: string): TraceFormat | string {
  const text = firstLine.trim();
  if (text === '') return 'is empty: it contains no request';
  const found =
    TRACE_FORMATS.find((each) => typeof each.firstLine === 'function' && each.firstLine(text)) ??
    TRACE_FORMATS.find((each) => each.firstLine === text[0]);
  if (found !== undefined) return found;
  const headers = TRACE_FORMATS.flatMap(({ csvHeader }) => csvHeader ?? []).join(' or ');
  const excerpt = JSON.stringify(text.slice(0, EXCERPT_CHARS));
  return `${excerpt} is neither a JSON object nor a known CSV header: ${headers}; docs/trace-format.md has all formats`;
}

/** Throws ConfigError for an unknown name. */
export function formatNamed(name: string): TraceFormat {
  const format = TRACE_FORMATS.find((each) => each.name === name);
  if (format !== undefined) return format;
  const known = TRACE_FORMATS.map((each) => each.name).join(', ');
  throw new ConfigError('trace', [{ path: 'format', message: `${name} is none of ${known}` }]);
}
