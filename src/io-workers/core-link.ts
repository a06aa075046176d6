import type { CloseReason } from '../extproc/codec/stream-event.ts';
import type { StreamTimes } from '../extproc/server/calls/stream-times.ts';
import type { ClientFault } from '../extproc/server/port/client-faults.ts';
import type { AboutRequest, SessionOptions } from '../extproc/session/session.ts';
import { RoutingError } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import { type Batch, BatchReader } from './batch.ts';
import { CoreFollowing } from './core-following.ts';
import { CoreRequests, type CoreRequestsOptions } from './core-requests.ts';
import { groupOf, TO_CORE } from './operations.ts';
import { readLabels } from './request-facts.ts';
import type { TurnOutbox } from './turn-outbox.ts';

export interface CoreLinkOptions
  extends Omit<CoreRequestsOptions, 'onFault'>,
    Pick<SessionOptions, 'onFault' | 'onRefused' | 'follow'> {
  /** Called with the name of a control of a client that was ignored. */
  readonly onIgnored: (control: string) => void;
  readonly onClientFault: (fault: ClientFault) => void;
  readonly times?: StreamTimes | undefined;
}

/** The deciding thread's end of the link to one I/O worker. */
export class CoreLink {
  readonly #options: CoreLinkOptions;
  readonly #outbox: TurnOutbox;
  readonly #following: CoreFollowing;
  readonly #requests: CoreRequests;

  constructor(options: CoreLinkOptions, outbox: TurnOutbox) {
    this.#options = options;
    this.#outbox = outbox;
    this.#following = new CoreFollowing(options.follow);
    const onFault = (error: unknown, { id, headers }: InferenceRequest): void =>
      options.onFault(error, this.#about(headers.get('x-request-id') || id, id));
    this.#requests = new CoreRequests({ ...options, onFault }, this.#following, outbox);
  }

  /** Decides all that the batch asks for, and answers it in one batch. */
  receive(batch: Batch): void {
    const reader = new BatchReader(batch);
    while (!reader.isAtEnd) {
      try {
        this.#take(reader.next(), reader);
      } catch (error) {
        // All values of an operation are read before anything is done by them.
        this.#options.onFault(error, {});
      }
    }
    this.#outbox.flush();
  }

  /** The worker is gone: its requests are over. */
  close(): void {
    this.#requests.close();
    this.#following.close();
  }

  #take(operation: number, reader: BatchReader): void {
    switch (groupOf(operation)) {
      case 'request':
        return this.#takeOfRequest(operation, reader);
      case 'followed':
        return this.#takeOfFollowed(operation, reader);
      case 'report':
        return this.#takeReport(operation, reader);
      case undefined:
        throw new Error(`an I/O worker sent operation ${operation}, which is unknown here`);
    }
  }

  #takeOfRequest(operation: number, reader: BatchReader): void {
    const requests = this.#requests;
    const key = reader.next<number>();
    switch (operation) {
      case TO_CORE.route:
        return requests.route(key, reader);
      case TO_CORE.prepare:
        return requests.prepare(key, reader);
      case TO_CORE.routePrepared:
        return requests.routePrepared(key, reader);
      case TO_CORE.cancel:
        return requests.cancel(key);
      case TO_CORE.firstToken:
      case TO_CORE.token:
        return requests.routed(key)?.firstToken();
      case TO_CORE.streams:
        return requests.routed(key)?.streams?.();
      case TO_CORE.served:
        return requests.served(key, reader.next());
      case TO_CORE.bodyRead:
        return requests.bodyRead(key, reader);
      case TO_CORE.loadReported:
        return requests.loadReported(key, reader);
      case TO_CORE.windowReported:
        return requests.routed(key)?.windowReported?.(reader.next());
      case TO_CORE.answered:
        return requests.answered(key, reader);
      default:
        return requests.done(key, reader);
    }
  }

  #takeOfFollowed(operation: number, reader: BatchReader): void {
    if (operation === TO_CORE.followed) this.#following.begin(reader);
    else if (operation === TO_CORE.followedRefused) this.#following.refused(reader);
    else this.#following.closed(reader);
  }

  #takeReport(operation: number, reader: BatchReader): void {
    const { onFault, onRefused, onIgnored, onClientFault, times } = this.#options;
    switch (operation) {
      case TO_CORE.refused: {
        const error = new RoutingError(reader.next(), reader.next());
        const request = readLabels(reader);
        return onRefused(error, request, this.#about(reader.next(), reader.next()));
      }
      case TO_CORE.fault: {
        const error = new Error(reader.next());
        error.stack = reader.next();
        return onFault(error, this.#about(reader.next(), reader.next()));
      }
      case TO_CORE.ignored:
        return onIgnored(reader.next());
      case TO_CORE.clientFault:
        return onClientFault(reader.next());
      case TO_CORE.requestProcessed:
        return times?.requestProcessed(reader.next());
      case TO_CORE.responseProcessed:
        return times?.responseProcessed(reader.next());
      default: {
        const seconds = reader.next<number>();
        return times?.closed(seconds, reader.next<CloseReason>());
      }
    }
  }

  #about(requestId: string | undefined, id: string | undefined): AboutRequest {
    const traceId = id === undefined ? undefined : this.#following.traceIdOf(id);
    return { ...(requestId && { requestId }), ...(traceId && { traceId }) };
  }
}
