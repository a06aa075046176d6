import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { BookingRouter, Destination, RoutedRequest } from '../../framework/routing.ts';
import { PREFILL_HEADER } from '../../framework/routing.ts';
import type { AnswerBlocks } from '../../openai/answers/answer-blocks.ts';
import type { UsageReader } from '../../openai/answers/usage-reader.ts';
import type { BodyReader, RequestHead } from '../../openai/body/body-reader.ts';
import { BODY_MODE } from '../codec/stream-event.ts';
import type { AnswerReaders } from './response-phase.ts';

export type UnbookedReason =
  /** It has failed, or its header and metadata do not reach us. */
  | 'no-destination'
  /** It has chosen an endpoint that is not in our pool, or that the proxy does not allow. */
  | 'unknown-endpoint'
  /** A body that we cannot read, or that has more bytes than we take. */
  | 'unreadable'
  /** It was answered before its headers came: the other picker refused it, or a filter before. */
  | 'refused'
  /** Its stream ended before its body: the client has gone, or the proxy did not wait. */
  | 'cut-short';

export interface ObservedRequestOptions {
  readonly router: BookingRouter;
  readonly openBody: (head: RequestHead) => BodyReader;
  readonly newRequestId: () => string;
  /** Whether the pool has an endpoint with this address, `host:port`. */
  readonly knows: (address: string) => boolean;
  readonly onBooked: () => void;
  readonly onUnbooked: (reason: UnbookedReason, detail: string) => void;
}

export interface BookingMode {
  readonly requestBodyMode: number;
  readonly firstTokenVisible: boolean;
  readonly endVisible: boolean;
}

const DESTINATION = 'x-gateway-destination-endpoint';

/** A request that another picker has routed, read like one of ours and reserved at its endpoint. */
export class ObservedRequest {
  readonly #options: ObservedRequestOptions;
  #head: RequestHead | undefined;
  #reader: BodyReader | undefined;
  #subset: readonly string[] | undefined;
  /** From metadata, which clients cannot write. */
  #destination: string | undefined;
  routed: RoutedRequest | undefined;
  #responseBlocks: AnswerBlocks | undefined;
  #usage: UsageReader | undefined;
  #over = false;

  constructor(options: ObservedRequestOptions) {
    this.#options = options;
  }

  /** The header `x-request-id`. */
  get clientRequestId(): string | undefined {
    return this.#head?.headers.get('x-request-id');
  }

  /** For its answer, once that begins. */
  get answerReaders(): AnswerReaders {
    return { responseBlocks: this.#responseBlocks, usage: this.#usage };
  }

  allow(subset: readonly string[]): void {
    this.#subset = subset;
  }

  sentTo(destination: string): void {
    this.#destination ??= destination;
  }

  onHeaders(headers: ReadonlyMap<string, string>, endOfStream: boolean, mode: BookingMode): void {
    if (this.#head !== undefined) return;
    const { newRequestId, openBody } = this.#options;
    const head = { id: newRequestId(), path: headers.get(':path') ?? '/', headers };
    this.#head = head;
    // Without a body it goes anywhere, and the picker in charge does not count it either.
    if (endOfStream) return this.#drop();
    this.#guarded(() => {
      this.#reader = openBody(head);
      this.#usage = this.#reader.usageReader();
      if (mode.requestBodyMode === BODY_MODE.none) this.#book(this.#reader.peek(), mode);
    });
  }

  onBody(chunk: Buffer, endOfStream: boolean, mode: BookingMode): void {
    this.#guarded(() => {
      this.#reader?.push(chunk);
      if (endOfStream) this.#end(mode);
    });
  }

  /** The body has ended, by trailers; or its answer comes already. */
  onAnswered(mode: BookingMode): void {
    if (this.#head === undefined && !this.#over) {
      this.#drop();
      this.#options.onUnbooked('refused', '');
    }
    this.#guarded(() => {
      if (this.routed === undefined && this.#reader !== undefined) {
        this.#book(this.#reader.peek(), mode);
      }
    });
  }

  onTrailers(mode: BookingMode): void {
    this.#guarded(() => this.#end(mode));
  }

  close(): void {
    const waited = !this.#over && this.#head !== undefined && this.routed === undefined;
    this.#drop();
    if (waited) this.#options.onUnbooked('cut-short', '');
  }

  #drop(): void {
    this.#over = true;
    this.#reader = undefined;
  }

  #end(mode: BookingMode): void {
    const request = this.#reader?.end();
    if (mode.firstTokenVisible) this.#responseBlocks = this.#reader?.answerBlocks();
    this.#reader = undefined;
    if (request === undefined) return;
    if (this.routed === undefined) this.#book(request, mode);
    else this.routed.bodyRead(request);
  }

  #book(request: InferenceRequest, { firstTokenVisible, endVisible }: BookingMode): void {
    const { router, knows, onBooked, onUnbooked } = this.#options;
    const destination = this.#destinationOf();
    if (destination === undefined) {
      this.#drop();
      onUnbooked('no-destination', '');
    } else if (!knows(destination.destination)) {
      this.#drop();
      onUnbooked('unknown-endpoint', destination.destination);
    } else {
      const options = { subset: this.#subset, firstTokenVisible, endVisible };
      this.routed = router.book(request, destination, options);
      onBooked();
    }
  }

  /** The first: the others are fallbacks; `served` reports their use. */
  #destinationOf(): Destination | undefined {
    const headers = this.#head?.headers;
    const list = this.#destination ?? headers?.get(DESTINATION) ?? '';
    const destination = list.split(',')[0]?.trim() ?? '';
    return destination === '' ? undefined : { destination, prefill: headers?.get(PREFILL_HEADER) };
  }

  /** A bad request is for the picker in charge to refuse. */
  #guarded(step: () => void): void {
    if (this.#over) return;
    try {
      step();
    } catch (error) {
      this.#drop();
      if (!(error instanceof RoutingError)) throw error;
      const { code, sentence } = error;
      this.#options.onUnbooked(
        code === 'no-endpoints' ? 'unknown-endpoint' : 'unreadable',
        sentence,
      );
    }
  }
}
