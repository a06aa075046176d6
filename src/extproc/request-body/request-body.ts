import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import type { ByteAccount } from '../streams/byte-account.ts';
import type { BodyReading } from './body-reading.ts';
import type { ReadRequest } from './read-request.ts';

/**
 * The body of one request, one class for each way in which proxies send it: when it is read far
 * enough for the pick, and what the proxy gets before the pick and after it. One call returns the
 * request: after it the pick can be made. Methods throw RoutingError for what cannot be served.
 */
export interface RequestBody {
  /** Whether the first message has the whole body, even where it does not say so. */
  readonly isOneMessage: boolean;
  /** The headers have come; a body or trailers will. */
  onHeaders(): ReadRequest | undefined;
  /** The chunk is valid during this call only. */
  onChunk(chunk: Buffer, endOfStream: boolean): ReadRequest | undefined;
  /** Trailers end the body. Where this returns the request, its answer answers them, too. */
  onTrailers(): ReadRequest | undefined;
  /** The pick is made, and its answer comes next. */
  onRouted(routed: RoutedRequest): void;
  /** Frees what it keeps. Nothing is called after it. */
  drop(): void;
}

/** What the body of each request has, however it is sent. */
export interface BodyParts {
  readonly reading: BodyReading;
  readonly emit: (action: StreamAction) => void;
  /** Counts the bytes that are kept. */
  readonly account: ByteAccount;
  /** Whether the proxy gives up the response after the pick. */
  readonly halfCloses: (request: InferenceRequest) => boolean;
  /** Called when nothing of the body is needed any more; drops it. */
  readonly onOver: () => void;
}
