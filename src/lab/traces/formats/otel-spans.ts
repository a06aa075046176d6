import { z } from 'zod';
import { parseJson, spanId } from '../json-fields.ts';
import { modelCallReader, type RecordedSpan } from '../model-call.ts';
import type { TraceFormat } from '../trace-format.ts';
import { noTraceOf } from './no-trace.ts';

/** OTLP's JSON has 64-bit numbers as strings; some exporters write them as numbers. */
const nanoseconds = z.union([z.string().regex(/^\d{1,20}$/), z.number().nonnegative()]);

const attribute = z.object({
  key: z.string(),
  value: z
    .object({
      stringValue: z.string().optional(),
      intValue: z.union([z.string(), z.number()]).optional(),
      doubleValue: z.number().optional(),
    })
    .optional(),
});

const span = z.object({
  traceId: spanId,
  spanId,
  parentSpanId: spanId,
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds.optional(),
  attributes: z.array(attribute).optional(),
  status: z.object({ code: z.union([z.number(), z.string()]).optional() }).optional(),
});

const scope = z.object({ spans: z.array(span).optional() });
const resources = z.array(z.object({ scopeSpans: z.array(scope).optional() }));
const exported = z.object({ resourceSpans: resources });
/** How a store of traces answers: Tempo with `batches` or `trace`, Jaeger's third API with `result`. */
const batch = z.object({
  batches: resources.optional(),
  trace: exported.optional(),
  result: exported.optional(),
});

/** A batch of an exporter begins with its spans, or with one of these names. */
const STORED = /^\{\s*"(?:batches|trace|result)"\s*:\s*[[{]/;

/** Spans of OpenTelemetry's GenAI conventions, as the collector's file exporter writes them. */
export const OTEL: TraceFormat = {
  name: 'otel',
  about: 'OpenTelemetry’s GenAI spans in OTLP/JSON',
  carries: ['model', 'session', 'seen'],
  shape: 'lines-or-values',
  // A value over many lines begins with a brace alone.
  firstLine: (text) =>
    text === '{' ||
    /^(?:\{.*"resourceSpans"|\[.*"?resourceSpans)/.test(text) ||
    (STORED.test(text) && /"(?:scopeSpans|resourceSpans)"/.test(text)),
  // Spans are usually in the order in which they ended.
  ordered: false,
  reader: modelCallReader(spansIn),
};

type Resources = z.infer<typeof resources>;

/** A string is an error message. */
function spansIn(text: string): readonly RecordedSpan[] | string {
  const found = resourcesIn(text);
  if (typeof found === 'string') return found;
  return found
    .flatMap(({ scopeSpans = [] }) => scopeSpans)
    .flatMap(({ spans = [] }) => spans)
    .map(recorded);
}

/** A string is an error message. */
function resourcesIn(text: string): Resources | string {
  const stored = STORED.test(text) ? parseJson(text, batch) : undefined;
  if (typeof stored === 'string') return stored;
  if (stored !== undefined) {
    const { batches, trace, result } = stored;
    const found = batches ?? trace?.resourceSpans ?? result?.resourceSpans;
    return found ?? noSpans(text);
  }
  const parsed = parseJson(text, exported);
  return typeof parsed === 'string' ? noSpans(text, parsed) : parsed.resourceSpans;
}

/** A brace alone is how any JSON over many lines begins. */
function noSpans(text: string, wrong = 'resourceSpans is missing'): string {
  return noTraceOf(text) ?? wrong;
}

function recorded(each: z.infer<typeof span>): RecordedSpan {
  const { startTimeUnixNano, endTimeUnixNano, attributes = [], status } = each;
  const atMs = millis(startTimeUnixNano);
  return {
    place: { trace: each.traceId, span: each.spanId, parent: each.parentSpanId },
    atMs,
    e2eMs: endTimeUnixNano === undefined ? undefined : millis(endTimeUnixNano) - atMs,
    attributes: new Map(attributes.map(({ key, value }) => [key, plain(value)])),
    failed: status?.code === 2 || status?.code === 'STATUS_CODE_ERROR',
  };
}

function plain(value: z.infer<typeof attribute>['value']): string | number | undefined {
  return value?.stringValue ?? value?.intValue ?? value?.doubleValue;
}

/** To the microsecond, which is the precision of a double for present times. */
function millis(time: string | number): number {
  if (typeof time === 'number') return time / 1_000_000;
  return Number(BigInt(time) / 1000n) / 1000;
}
