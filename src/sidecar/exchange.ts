import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Millis } from '../framework/runtime.ts';
import type { FrontExchange } from '../runtime/network/http-front.ts';
import type { SidecarParts } from './sidecar-parts.ts';

/** One request of a client, and all that serving it takes. */
export interface Exchange extends FrontExchange, SidecarParts {
  /** The engine that answers it, `host:port`. */
  readonly engine: string;
  /** The request's headers to forward, with a request id. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What an engine answers, as far as it has come. */
export interface EngineAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** Since when it is decoded from the results of other servers; undefined without those. */
  readonly decodedSince?: Millis | undefined;
}
