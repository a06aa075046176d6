import { internalFailure, RoutingError } from '../framework/error.ts';
import type { Outcome, Usage } from '../framework/observer.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { LocalResponse, RequestLine } from '../framework/request-control.ts';
import type { Placement, RoutedRequest, RouteOptions, Router } from '../framework/routing.ts';
import type { BatchReader } from './batch.ts';
import type { CoreFollowing } from './core-following.ts';
import { TO_WORKER } from './operations.ts';
import { type PlacedOptions, writePlaced } from './remote-routed.ts';
import { readBlocks, readRequest } from './request-facts.ts';
import type { TurnOutbox } from './turn-outbox.ts';

export interface CoreRequestsOptions {
  readonly router: Router;
  /** Answers some requests without a body in place of a model server. Throws RoutingError. */
  readonly respond?: ((request: RequestLine) => LocalResponse | undefined) | undefined;
  /** Adds what plugins find in the headers. */
  readonly identified: (request: InferenceRequest) => InferenceRequest;
  readonly placedOptions: () => PlacedOptions;
  /** Called for an error of ours; the request is refused. */
  readonly onFault: (error: unknown, request: InferenceRequest) => void;
}

type Subset = RouteOptions['subset'];

/** The requests of one I/O worker in the deciding thread, by the worker's keys. */
export class CoreRequests {
  readonly #options: CoreRequestsOptions;
  readonly #following: CoreFollowing;
  readonly #outbox: TurnOutbox;
  readonly #open = new Map<number, CoreRequest>();

  constructor(options: CoreRequestsOptions, following: CoreFollowing, outbox: TurnOutbox) {
    this.#options = options;
    this.#following = following;
    this.#outbox = outbox;
  }

  route(key: number, reader: BatchReader): void {
    const open = this.#read(key, reader);
    open.options = optionsIn(reader);
    const { prepare } = this.#options.router;
    // A plugin has begun to prepare picks while this request was on its way without its body.
    if (prepare === undefined || open.options.anywhere === true) this.#pick(open);
    else this.#prepare(open, prepare, [], () => this.#pick(open));
  }

  prepare(key: number, reader: BatchReader): void {
    const open = this.#read(key, reader);
    open.options = { subset: reader.next<Subset>() };
    const body = reader.next<Uint8Array | undefined>();
    const { prepare } = this.#options.router;
    const ready = (): void => this.#outbox.writer.put(TO_WORKER.ready, key);
    if (prepare === undefined) ready();
    else this.#prepare(open, prepare, body === undefined ? [] : [body], ready);
  }

  routePrepared(key: number, reader: BatchReader): void {
    const open = this.#open.get(key);
    const options = optionsIn(reader);
    if (open === undefined) return;
    open.isPreparing = false;
    open.options = options;
    this.#pick(open);
  }

  cancel(key: number): void {
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open !== undefined) this.#abandon(open);
  }

  routed(key: number): RoutedRequest | undefined {
    return this.#open.get(key)?.routed;
  }

  served(key: number, address: string): void {
    this.routed(key)?.served(address);
  }

  loadReported(key: number, reader: BatchReader): void {
    const report = {
      waitingQueueSize: reader.next<number | undefined>(),
      runningRequests: reader.next<number | undefined>(),
      kvCacheUsage: reader.next<number | undefined>(),
    };
    this.routed(key)?.loadReported?.(report);
  }

  bodyRead(key: number, reader: BatchReader): void {
    const request = readRequest(reader);
    this.routed(key)?.bodyRead(this.#options.identified(request));
  }

  answered(key: number, reader: BatchReader): void {
    const blocks = readBlocks(reader);
    this.routed(key)?.answered(blocks);
  }

  done(key: number, reader: BatchReader): void {
    const outcome = reader.next<Outcome>();
    const usage = reader.next<Usage | undefined>();
    const responseBytes = reader.next<number | undefined>();
    const status = reader.next<number | undefined>();
    const routed = this.routed(key);
    this.#open.delete(key);
    routed?.done(outcome, usage, responseBytes, status);
  }

  /** The worker is gone, and its streams with it. */
  close(): void {
    for (const open of this.#open.values()) this.#abandon(open);
    this.#open.clear();
  }

  #read(key: number, reader: BatchReader): CoreRequest {
    const request = this.#options.identified(readRequest(reader));
    const open = new CoreRequest(key, request, {
      placed: (routed) => this.#placed(open, routed),
      refused: (error) => this.#refuse(open, error),
    });
    this.#open.set(key, open);
    this.#following.bodyRead(request);
    return open;
  }

  #prepare(
    open: CoreRequest,
    prepare: NonNullable<Router['prepare']>,
    body: readonly Uint8Array[],
    go: () => void,
  ): void {
    const { key, request, options } = open;
    const refuse = ({ code, sentence }: RoutingError): void =>
      this.#outbox.writer.put(TO_WORKER.refuse, key, code, sentence);
    const ready = (): void => {
      if (this.#open.get(key) === open) go();
    };
    open.isPreparing = true;
    this.#guarded(open, () => {
      if (!prepare(request, body, ready, { subset: options.subset, refuse })) ready();
    });
  }

  #pick(open: CoreRequest): void {
    open.isPreparing = false;
    this.#guarded(open, () => {
      const { request, options, placement } = open;
      const { router } = this.#options;
      const local = this.#localAnswer(request);
      if (local !== undefined) {
        this.#open.delete(open.key);
        this.#outbox.writer.put(TO_WORKER.answeredHere, open.key, local);
        return;
      }
      const routed = router.enqueue
        ? router.enqueue(request, options, placement)
        : router.route(request, options);
      if (routed === undefined) open.isHeld = true;
      else this.#placed(open, routed);
    });
  }

  #localAnswer({ bodyBytes, headers }: InferenceRequest): LocalResponse | undefined {
    const { respond } = this.#options;
    if (respond === undefined || bodyBytes > 0) return undefined;
    return respond({ method: headers.get(':method') ?? '', path: headers.get(':path') ?? '/' });
  }

  #placed(open: CoreRequest, routed: RoutedRequest): void {
    open.isHeld = false;
    open.routed = routed;
    const { writer } = this.#outbox;
    writer.put(TO_WORKER.placed, open.key);
    const traceparent = this.#following.traceparentOf(open.request);
    writePlaced(writer, routed, this.#options.placedOptions(), traceparent);
  }

  #guarded(open: CoreRequest, step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#refuse(open, error);
    }
  }

  #refuse(open: CoreRequest, error: unknown): void {
    const { key, request } = open;
    this.#open.delete(key);
    const expected = error instanceof RoutingError;
    const { code, sentence } = expected ? error : internalFailure();
    if (!expected) this.#options.onFault(error, request);
    this.#outbox.writer.put(TO_WORKER.refused, key, code, sentence);
  }

  #abandon({ request, routed, isPreparing, isHeld, placement }: CoreRequest): void {
    const { router } = this.#options;
    if (isPreparing) router.abandon?.(request);
    if (isHeld) router.cancel?.(placement);
    routed?.done('aborted');
  }
}

/** One request of an I/O worker, from the message that asks for a pick until its end. */
class CoreRequest {
  readonly key: number;
  readonly request: InferenceRequest;
  /** What is done where the request has waited for its endpoint. */
  readonly placement: Placement;
  options: RouteOptions = {};
  routed: RoutedRequest | undefined;
  isPreparing = false;
  isHeld = false;

  constructor(key: number, request: InferenceRequest, placement: Placement) {
    this.key = key;
    this.request = request;
    this.placement = placement;
  }
}

function optionsIn(reader: BatchReader): RouteOptions {
  return {
    subset: reader.next<Subset>(),
    anywhere: reader.next<boolean | undefined>(),
    firstTokenVisible: reader.next<boolean>(),
    endVisible: reader.next<boolean>(),
    scoresWanted: reader.next<boolean | undefined>(),
  };
}
