import { WireWriter } from '../../extproc/codec/wire-writer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { RequestTrace } from '../requests/trace-context.ts';
import type { AttributeValue, PutAttribute } from './attributes.ts';
import type { Phase } from './phases-of.ts';
import type { TraceIds } from './trace-ids.ts';

/** Values of OTLP's enums. */
const KIND = { internal: 1, server: 2 } as const;
const STATUS_ERROR = 2;
const NANOS_PER_MS = 1e6;
/** The longest `tracestate` that W3C Trace Context asks for. */
const TRACE_STATE_MAX = 512;

/** Numbers of fields, of the messages in OpenTelemetry's `trace.proto` and `common.proto`. */
const REQUEST = { resourceSpans: 1 } as const;
const RESOURCE_SPANS = { resource: 1, scopeSpans: 2 } as const;
const RESOURCE = { attributes: 1 } as const;
const SCOPE_SPANS = { scope: 1, spans: 2 } as const;
const SCOPE = { name: 1, version: 2 } as const;
const SPAN = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  startTime: 7,
  endTime: 8,
  attributes: 9,
  status: 15,
} as const;
const STATUS = { message: 2, code: 3 } as const;
const KEY_VALUE = { key: 1, value: 2 } as const;
const ANY_VALUE = { text: 1, boolean: 2, whole: 3, double: 4, array: 5 } as const;
const ARRAY = { values: 1 } as const;

export interface SpanWriterOptions {
  /** What is said of this process. */
  readonly resource: ReadonlyMap<string, string>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly ids: Pick<TraceIds, 'spanId'>;
}

/**
 * A batch of spans as OTLP has it: an `ExportTraceServiceRequest` in protobuf. Spans become bytes
 * at once, because objects that wait for their batch are moved to V8's old generation, and cost
 * more there than to make them. The batch is written from its end to its start.
 */
export class SpanWriter {
  readonly #wire = new WireWriter();
  readonly #options: SpanWriterOptions;
  #spans = 0;

  constructor(options: SpanWriterOptions) {
    this.#options = options;
  }

  /** Spans since the last `take`. */
  get spans(): number {
    return this.#spans;
  }

  /**
   * Adds the spans of one request. `originMs` is the time since the Unix epoch when the picker's
   * clock was 0.
   */
  add(phases: readonly Phase[], trace: RequestTrace, originMs: Millis): void {
    const orchestrationId = this.#options.ids.spanId();
    for (const phase of phases.toReversed()) {
      const end = this.#wire.written;
      this.#span(phase, originMs);
      this.#context(phase, trace, orchestrationId);
      this.#wire.message(SCOPE_SPANS.spans, end);
    }
    this.#spans += phases.length;
  }

  /** The batch. The next one begins. */
  take(): Buffer {
    const wire = this.#wire;
    const { resource, scope } = this.#options;
    this.#spans = 0;
    const scopeEnd = wire.written;
    wire.text(SCOPE.version, scope.version);
    wire.text(SCOPE.name, scope.name);
    wire.message(SCOPE_SPANS.scope, scopeEnd);
    wire.message(RESOURCE_SPANS.scopeSpans, 0);
    const resourceEnd = wire.written;
    for (const [name, value] of resource) this.#attribute(RESOURCE.attributes, name, value);
    wire.message(RESOURCE_SPANS.resource, resourceEnd);
    wire.message(REQUEST.resourceSpans, 0);
    return wire.take();
  }

  #span(phase: Phase, originMs: Millis): void {
    const { name, place, from, to, attributes, failure } = phase;
    const wire = this.#wire;
    if (failure !== undefined) {
      const end = wire.written;
      wire.uint32(STATUS.code, STATUS_ERROR);
      wire.text(STATUS.message, failure);
      wire.message(SPAN.status, end);
    }
    attributes?.(this.#put);
    wire.fixed64(SPAN.endTime, Math.round((originMs + Math.max(from, to)) * NANOS_PER_MS));
    wire.fixed64(SPAN.startTime, Math.round((originMs + from) * NANOS_PER_MS));
    wire.uint32(SPAN.kind, place === 'request' ? KIND.server : KIND.internal);
    wire.text(SPAN.name, name);
  }

  #context({ place, spanId: known }: Phase, trace: RequestTrace, orchestrationId: string): void {
    const wire = this.#wire;
    const { traceId, spanId, parent, traceState } = trace;
    let own: string;
    let above: string | undefined;
    if (place === 'request') [own, above] = [spanId, parent?.spanId];
    else if (place === 'orchestration') [own, above] = [orchestrationId, spanId];
    else {
      own = known ?? this.#options.ids.spanId();
      above = place === 'part-of-request' ? spanId : orchestrationId;
    }
    if (above !== undefined) wire.hex(SPAN.parentSpanId, above);
    if (traceState !== undefined) wire.text(SPAN.traceState, traceState.slice(0, TRACE_STATE_MAX));
    wire.hex(SPAN.spanId, own);
    wire.hex(SPAN.traceId, traceId);
  }

  readonly #put: PutAttribute = (name, value) => this.#attribute(SPAN.attributes, name, value);

  #attribute(field: number, name: string, value: AttributeValue): void {
    const end = this.#wire.written;
    this.#value(KEY_VALUE.value, value);
    this.#wire.text(KEY_VALUE.key, name);
    this.#wire.message(field, end);
  }

  #value(field: number, value: AttributeValue): void {
    const wire = this.#wire;
    const end = wire.written;
    if (typeof value === 'string') wire.text(ANY_VALUE.text, value);
    else if (typeof value === 'boolean') wire.uint32(ANY_VALUE.boolean, value ? 1 : 0);
    else if (typeof value !== 'number') {
      for (const each of value.toReversed()) this.#value(ARRAY.values, each);
      wire.message(ANY_VALUE.array, end);
    } else if (Number.isSafeInteger(value)) wire.int64(ANY_VALUE.whole, value);
    else wire.double(ANY_VALUE.double, value);
    wire.message(field, end);
  }
}
