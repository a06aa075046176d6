import type { Endpoint, EndpointId, LoadReport } from '../framework/endpoint.ts';
import type { Outcome, Usage } from '../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../framework/request.ts';
import type { RoutedRequest } from '../framework/routing.ts';
import type { ScoredEndpoint } from '../framework/scheduling.ts';
import type { BatchReader, BatchWriter } from './batch.ts';
import { TO_CORE } from './operations.ts';
import { readHeaders, writeBlocks, writeHeaders, writeRequest } from './request-facts.ts';
import type { TurnOutbox } from './turn-outbox.ts';

/** Whether the worker needs the labels of the endpoint: an edit of the body depends on them. */
export interface PlacedOptions {
  readonly withLabels: boolean;
  readonly withScores: boolean;
}

/** Writes what a session needs of a routed request. */
export function writePlaced(
  writer: BatchWriter,
  routed: RoutedRequest,
  { withLabels, withScores }: PlacedOptions,
  traceparent: string | undefined,
): void {
  const { endpoint, destinations, scored } = routed;
  writer.put(endpoint.id, endpoint.address, withLabels ? [...endpoint.labels] : undefined);
  writer.put(destinations.join(), traceparent, routed.wantsAnswer, routed.wantsTokens === true);
  writer.put(withScores ? scored?.map((each) => [each.endpoint.address, each.score]) : undefined);
  writeHeaders(writer, routed.headers);
  writer.put(responseHeadersOf(routed));
}

type Pairs = readonly (readonly [name: string, value: string])[];

/**
 * By the address that the proxy may report, of those that it was given; '' where it reports none.
 */
type ResponseHeaders = readonly (readonly [served: string, headers: Pairs])[];

function responseHeadersOf({
  destinations,
  responseHeadersFrom: from,
}: RoutedRequest): ResponseHeaders | undefined {
  if (from === undefined) return undefined;
  const none = ['', [...from(undefined)]] as const;
  return [none, ...destinations.map((address) => [address, [...from(address)]] as const)];
}

/** What `writePlaced` has written. */
export interface Placed
  extends Pick<RoutedRequest, 'endpoint' | 'destinations' | 'scored' | 'headers' | 'wantsAnswer'> {
  readonly wantsTokens: boolean;
  /** Names the trace of this request; undefined where the client's header is passed on. */
  readonly traceparent: string | undefined;
  readonly responseHeaders: ResponseHeaders;
}

/** What `writePlaced` wrote. */
export function readPlaced(reader: BatchReader): Placed {
  const endpoint = knownEndpoint(reader.next<EndpointId>(), reader.next(), reader.next());
  const destinations = reader.next<string>();
  return {
    endpoint,
    destinations: destinations === '' ? [] : destinations.split(','),
    traceparent: reader.next(),
    wantsAnswer: reader.next(),
    wantsTokens: reader.next(),
    scored: reader.next<readonly Score[] | undefined>()?.map(scoredOf) ?? [],
    headers: readHeaders(reader),
    responseHeaders: reader.next<ResponseHeaders | undefined>() ?? [],
  };
}

/** A request that the deciding thread has routed, as the session of an I/O worker sees it. */
export class RemoteRouted implements RoutedRequest {
  readonly request: InferenceRequest;
  readonly #placed: Placed;
  readonly #parts: RemoteRoutedParts;
  #served = '';
  #streams: boolean;
  #firstTokenSeen = false;
  #ended = false;

  constructor(request: InferenceRequest, placed: Placed, parts: RemoteRoutedParts) {
    this.request = request;
    this.#streams = request.streaming;
    this.#placed = placed;
    this.#parts = parts;
  }

  get endpoint(): Endpoint {
    return this.#placed.endpoint;
  }

  get destinations(): readonly string[] {
    return this.#placed.destinations;
  }

  get scored(): readonly ScoredEndpoint[] {
    return this.#placed.scored ?? [];
  }

  get headers(): ReadonlyMap<string, string> {
    return this.#placed.headers;
  }

  get wantsAnswer(): boolean {
    return this.#placed.wantsAnswer;
  }

  get wantsTokens(): boolean {
    return this.#streams && this.#placed.wantsTokens;
  }

  responseHeaders(): ReadonlyMap<string, string> {
    const found = this.#placed.responseHeaders.find(([served]) => served === this.#served);
    return new Map(found?.[1] ?? []);
  }

  loadReported({ waitingQueueSize, runningRequests, kvCacheUsage }: LoadReport): void {
    if (this.#ended) return;
    this.#send(TO_CORE.loadReported).put(waitingQueueSize, runningRequests, kvCacheUsage);
  }

  windowReported(tokens: number): void {
    if (!this.#ended) this.#send(TO_CORE.windowReported).put(tokens);
  }

  streams(): void {
    if (this.#streams || this.#ended) return;
    this.#streams = true;
    this.#send(TO_CORE.streams);
  }

  firstToken(): void {
    if (this.#ended || (this.#firstTokenSeen && !this.wantsTokens)) return;
    this.#send(this.#firstTokenSeen ? TO_CORE.token : TO_CORE.firstToken);
    this.#firstTokenSeen = true;
  }

  served(address: string): void {
    if (this.#ended || address === this.#served) return;
    this.#served = address;
    this.#send(TO_CORE.served).put(address);
  }

  bodyRead(request: InferenceRequest): void {
    if (!this.#ended) writeRequest(this.#send(TO_CORE.bodyRead), request);
  }

  answered(conversation: PromptBlocks): void {
    if (!this.#ended) writeBlocks(this.#send(TO_CORE.answered), conversation);
  }

  done(outcome: Outcome, usage?: Usage, responseBytes?: number, status?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#send(TO_CORE.done).put(outcome, usage, responseBytes, status);
    this.#parts.onDone();
  }

  #send(operation: number): BatchWriter {
    const { writer } = this.#parts.outbox;
    writer.put(operation, this.#parts.key);
    return writer;
  }
}

interface RemoteRoutedParts {
  readonly key: number;
  readonly outbox: TurnOutbox;
  readonly onDone: () => void;
}

type Score = readonly [address: string, score: number];

function scoredOf([address, score]: Score): ScoredEndpoint {
  return { endpoint: knownEndpoint(address as EndpointId, address, undefined), score };
}

/** An endpoint of which only name, address and labels are known here. */
function knownEndpoint(
  id: EndpointId,
  address: string,
  labels: Iterable<readonly [string, string]> | undefined,
): Endpoint {
  return {
    id,
    address,
    slot: -1,
    labels: labels === undefined ? NO_LABELS : new Map(labels),
    metrics: NO_METRICS,
    attribute: (key) => key.initial,
  };
}

const NO_LABELS: ReadonlyMap<string, string> = new Map();
const NO_METRICS: Endpoint['metrics'] = {
  waitingQueueSize: 0,
  runningRequests: 0,
  kvCacheUsage: 0,
  sampledAt: Number.NEGATIVE_INFINITY,
};
