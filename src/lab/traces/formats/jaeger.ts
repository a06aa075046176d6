import { z } from 'zod';
import { nonNegative, parseJson, spanId } from '../json-fields.ts';
import { modelCallReader, type RecordedSpan } from '../model-call.ts';
import type { TraceFormat } from '../trace-format.ts';

const MICROS = 1000;
/** A span lies in an answer, its traces, one of them, its spans, and a list of them. */
const SPAN_DEPTH = 5;

const reference = z.object({ refType: z.string(), spanID: spanId });

const span = z.object({
  traceID: spanId,
  spanID: spanId,
  references: z
    .array(reference)
    .optional()
    .catch(() => undefined),
  // Microseconds since 1970, and their number.
  startTime: nonNegative,
  duration: nonNegative.nullish(),
  tags: z.array(z.object({ key: z.string(), value: z.unknown() })).nullish(),
});

/** OpenTelemetry's GenAI spans as Jaeger has them: what its page downloads and `/api/traces` answers. */
export const JAEGER: TraceFormat = {
  name: 'jaeger',
  about: 'OpenTelemetry’s GenAI spans in the JSON of Jaeger’s page and API',
  carries: ['model', 'session', 'seen'],
  shape: { nested: SPAN_DEPTH },
  firstLine: (text) =>
    text.startsWith('{') && ['"data"', '"traceID"', '"spans"'].every((each) => text.includes(each)),
  ordered: false,
  reader: modelCallReader(spansIn),
};

/** A string is an error message. */
function spansIn(text: string): readonly RecordedSpan[] | string {
  // What processes did the work lies as deep.
  if (!text.includes('"spanID"')) return [];
  const parsed = parseJson(text, span);
  return typeof parsed === 'string' ? parsed : [recorded(parsed)];
}

function recorded({ startTime, duration, tags, ...ids }: z.infer<typeof span>): RecordedSpan {
  const around = ids.references?.find(({ refType }) => refType === 'CHILD_OF');
  const attributes = new Map((tags ?? []).map(({ key, value }) => [key, plain(value)]));
  return {
    place: { trace: ids.traceID, span: ids.spanID, parent: around?.spanID },
    atMs: startTime / MICROS,
    e2eMs: typeof duration === 'number' ? duration / MICROS : undefined,
    attributes,
    failed: attributes.get('error') === 'true' || attributes.get('otel.status_code') === 'ERROR',
  };
}

function plain(value: unknown): string | number | undefined {
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}
