import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest, Router } from '../../framework/routing.ts';
import type { ForeignDecision } from '../../framework/scheduling.ts';
import { PREFILL_HEADER } from '../../framework/stage-headers.ts';
import type { AnswerBlocks } from '../../openai/answer-blocks.ts';
import type { BodyReader, RequestHead } from '../../openai/body-reader.ts';
import { BODY_MODE } from '../codec/stream-event.ts';

/** Why a request that went by is in nobody's books. */
export type UnbookedReason =
  /** The picker in charge has left no destination: it has failed, or its header and metadata do not reach us. */
  | 'no-destination'
  /** It has chosen an endpoint that is not in our pool, or that the proxy does not allow. */
  | 'unknown-endpoint'
  /** A body that we cannot read, or of more bytes than we take. */
  | 'unreadable'
  /** Its stream ended before its body: the client has gone, or the proxy had no patience with us. */
  | 'cut-short';

export interface ObservedRequestOptions {
  readonly router: Router;
  readonly openBody: (head: RequestHead) => BodyReader;
  /** The request as far as its headers tell it, for one without a body. */
  readonly headerOnly: (head: RequestHead) => InferenceRequest;
  readonly newRequestId: () => string;
  /** Whether the pool has an endpoint with this address, `host:port`. */
  readonly knows: (address: string) => boolean;
  readonly onBooked: () => void;
  readonly onUnbooked: (reason: UnbookedReason, detail: string) => void;
}

export interface BookingMode {
  readonly requestBodyMode: number;
  readonly firstTokenSeen: boolean;
  readonly endSeen: boolean;
}

const DESTINATION = 'x-gateway-destination-endpoint';

/**
 * A request on its way to where another picker has sent it: read like one of ours, and booked at that place once its body
 * is known, or its answer comes. Says nothing to anybody, and throws only what is no fault of the request.
 */
export class ObservedRequest {
  readonly #options: ObservedRequestOptions;
  #head: RequestHead | undefined;
  #reader: BodyReader | undefined;
  #subset: readonly string[] | undefined;
  /** From metadata, which clients cannot write. */
  #destination: string | undefined;
  #routed: RoutedRequest | undefined;
  #answer: AnswerBlocks | undefined;
  #over = false;

  constructor(options: ObservedRequestOptions) {
    this.#options = options;
  }

  get routed(): RoutedRequest | undefined {
    return this.#routed;
  }

  /** For hashing the answer; undefined where it teaches nothing. */
  get answer(): AnswerBlocks | undefined {
    return this.#answer;
  }

  allow(subset: readonly string[]): void {
    this.#subset = subset;
  }

  sentTo(destination: string): void {
    this.#destination ??= destination;
  }

  onHeaders(headers: ReadonlyMap<string, string>, endOfStream: boolean, mode: BookingMode): void {
    if (this.#head !== undefined) return;
    const { newRequestId, openBody, headerOnly } = this.#options;
    const head = { id: newRequestId(), path: headers.get(':path') ?? '/', headers };
    this.#head = head;
    this.#guarded(() => {
      if (endOfStream && headers.get(':method') !== 'POST') this.#book(headerOnly(head), mode);
      else {
        this.#reader = openBody(head);
        if (endOfStream) this.#end(mode);
        else if (mode.requestBodyMode === BODY_MODE.none) this.#book(this.#reader.peek(), mode);
      }
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
    this.#guarded(() => {
      if (this.#routed === undefined && this.#reader !== undefined) {
        this.#book(this.#reader.peek(), mode);
      }
    });
  }

  onTrailers(mode: BookingMode): void {
    this.#guarded(() => this.#end(mode));
  }

  /** Nothing more will come. */
  close(): void {
    const waited = !this.#over && this.#head !== undefined && this.#routed === undefined;
    this.#drop();
    if (waited) this.#options.onUnbooked('cut-short', '');
  }

  /** Lets go of the body. */
  #drop(): void {
    this.#over = true;
    this.#reader = undefined;
  }

  #end(mode: BookingMode): void {
    const request = this.#reader?.end();
    if (mode.firstTokenSeen) this.#answer = this.#reader?.answerBlocks();
    this.#reader = undefined;
    if (request === undefined) return;
    if (this.#routed === undefined) this.#book(request, mode);
    else this.#routed.bodyRead(request);
  }

  #book(request: InferenceRequest, { firstTokenSeen, endSeen }: BookingMode): void {
    const { router, knows, onBooked, onUnbooked } = this.#options;
    const decided = this.#decided();
    if (decided === undefined) {
      this.#drop();
      onUnbooked('no-destination', '');
    } else if (!knows(decided.destination)) {
      this.#drop();
      onUnbooked('unknown-endpoint', decided.destination);
    } else {
      const options = { subset: this.#subset, firstTokenSeen, endSeen, decided };
      this.#routed = router.route(request, options);
      onBooked();
    }
  }

  /** The first of its destinations: the others are fallbacks, and `served` tells when one was taken. */
  #decided(): ForeignDecision | undefined {
    const headers = this.#head?.headers;
    const list = this.#destination ?? headers?.get(DESTINATION) ?? '';
    const destination = list.split(',')[0]?.trim() ?? '';
    return destination === '' ? undefined : { destination, prefill: headers?.get(PREFILL_HEADER) };
  }

  /** What is wrong with the request is between its client and the picker in charge. */
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
