import type { IncomingHttpHeaders } from 'node:http';
import type { Stage } from './sidecar-metrics.ts';

/** Where traces of requests and of their legs go; the sidecar does not know how they are written. */
export interface LegTracing {
  /** Begins the trace of a request: it belongs to the trace that its headers name, if any. */
  begin(headers: IncomingHttpHeaders): RequestTracing;
}

export type TraceAttributes = Readonly<Record<string, string | number | boolean>>;

export interface RequestTracing {
  /** Begins the span of a request to another server. */
  leg(stage: Stage, attributes: TraceAttributes): LegSpan;
  /** Writes all spans. `failure` says why the request failed. */
  end(attributes: TraceAttributes, failure?: string): void;
}

export interface LegSpan {
  /** What the server must get so that its own spans belong to this leg. */
  readonly headers: Readonly<Record<string, string>>;
  end(attributes: TraceAttributes, failure?: string): void;
}
