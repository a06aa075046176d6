import { traceparentOf } from '../requests/trace-context.ts';
import type { AttributeValue } from './attributes.ts';
import { openTracing, type TracingSurroundings } from './open-tracing.ts';
import type { Phase } from './phases-of.ts';
import { beginTrace } from './request-tracer.ts';
import type { TracingPlan } from './tracing-plan.ts';

/** The name of the whole request, which is the reference's. */
const REQUEST = 'llm_d.pd_proxy.request';

/** By lower-case name, as Node has them. */
type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;
type Attributes = Readonly<Record<string, AttributeValue>>;

interface LegSpan {
  readonly headers: Readonly<Record<string, string>>;
  end(attributes: Attributes, failure?: string): void;
}

interface TracedRequest {
  leg(name: string, attributes: Attributes): LegSpan;
  end(attributes: Attributes, failure?: string): void;
}

export interface LegTraces {
  /** Begins the trace of a request. Its spans are sent as they end, where the trace is sampled. */
  begin(headers: HttpHeaders): TracedRequest;
  /** Sends what waits, for 3 s at most. */
  stop(): Promise<void>;
}

/** Starts to send traces of requests that several servers answer together, with a span a leg. */
export async function traceLegs(
  plan: TracingPlan,
  surroundings: TracingSurroundings,
): Promise<LegTraces> {
  const { clock } = surroundings;
  const { spans, ids, sampling, stop } = await openTracing(plan, surroundings);
  const begin = (headers: HttpHeaders): TracedRequest => {
    const trace = beginTrace({ headers: traceHeadersOf(headers) }, undefined, { ids, sampling });
    const beganAt = clock.now();
    const write = (phase: Omit<Phase, 'to' | 'attributes'>, said: Attributes): void => {
      if (!trace.sampled) return;
      const attributes = putting(said);
      const ended = { ...phase, to: clock.now(), attributes };
      spans.add([ended], trace, clock.wallTime() - clock.now());
    };
    return {
      leg(name, said) {
        const [from, spanId] = [clock.now(), ids.spanId()];
        return {
          headers: { traceparent: traceparentOf({ ...trace, spanId }) },
          end(more, failure) {
            write({ name, from, spanId, place: 'part-of-request', failure }, { ...said, ...more });
          },
        };
      },
      end(said, failure) {
        write({ name: REQUEST, from: beganAt, place: 'request', failure }, said);
      },
    };
  };
  return { begin, stop };
}

function putting(attributes: Attributes): NonNullable<Phase['attributes']> {
  return (put) => {
    for (const [name, value] of Object.entries(attributes)) put(name, value);
  };
}

function traceHeadersOf(headers: HttpHeaders): ReadonlyMap<string, string> {
  const named = ['traceparent', 'tracestate'].map((name) => [name, headers[name]] as const);
  return new Map(
    named.flatMap(([name, text]) => (text === undefined ? [] : [[name, String(text)]])),
  );
}
