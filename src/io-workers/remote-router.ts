import { RoutingError, type RoutingErrorCode } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import { LocalAnswer } from '../framework/request-control.ts';
import type { Placement, PrepareOptions, RouteOptions, Router } from '../framework/routing.ts';
import { type Batch, BatchReader } from './batch.ts';
import { TO_CORE, TO_WORKER } from './operations.ts';
import { type Placed, RemoteRouted, readPlaced } from './remote-routed.ts';
import { writeRequest } from './request-facts.ts';
import type { TurnOutbox } from './turn-outbox.ts';

/** What has to be done before picks: bodies are sent only where they are read. */
export type Preparing = 'nothing' | 'waits' | 'bodies';

/** A request that the deciding thread knows. */
interface AskedRequest {
  readonly key: number;
  readonly request: InferenceRequest;
  /** While it waits for its pick. */
  placement?: Placement | undefined;
  /** While what its pick needs is prepared. */
  ready?: (() => void) | undefined;
  readonly refuse?: PrepareOptions['refuse'];
}

/** The decision core in another thread, as the sessions of an I/O worker see it. */
export class RemoteRouter implements Router {
  readonly #outbox: TurnOutbox;
  readonly #open = new Map<number, AskedRequest>();
  readonly #prepared = new Map<InferenceRequest, AskedRequest>();
  readonly #placements = new Map<Placement, AskedRequest>();
  readonly #onTraceparent: (id: string, traceparent: string) => void;
  #keys = 0;
  #preparing: Preparing = 'nothing';

  /** `onTraceparent` is called before the placement, where the request's trace is written. */
  constructor(outbox: TurnOutbox, onTraceparent: (id: string, traceparent: string) => void) {
    this.#outbox = outbox;
    this.#onTraceparent = onTraceparent;
  }

  setPreparing(preparing: Preparing): void {
    this.#preparing = preparing;
  }

  get prepare(): Router['prepare'] {
    return this.#preparing === 'nothing' ? undefined : this.#prepare;
  }

  readonly #prepare: NonNullable<Router['prepare']> = (request, body, ready, options = {}) => {
    const { subset, refuse } = options;
    const open = this.#begin(request, { ready, refuse });
    this.#prepared.set(request, open);
    const { writer } = this.#outbox;
    writer.put(TO_CORE.prepare, open.key);
    writeRequest(writer, request);
    writer.put(subset);
    // Copied: the session passes the body on.
    if (this.#preparing === 'bodies') writer.move(joined(body));
    else writer.put(undefined);
    return true;
  };

  readonly enqueue: NonNullable<Router['enqueue']> = (request, options, placement) => {
    const prepared = this.#prepared.get(request);
    const open = prepared ?? this.#begin(request, {});
    this.#prepared.delete(request);
    open.placement = placement;
    this.#placements.set(placement, open);
    const { writer } = this.#outbox;
    writer.put(prepared === undefined ? TO_CORE.route : TO_CORE.routePrepared, open.key);
    if (prepared === undefined) writeRequest(writer, request);
    const { subset, anywhere, firstTokenVisible, endVisible, scoresWanted } = options;
    writer.put(subset, anywhere, firstTokenVisible, endVisible, scoresWanted);
    return undefined;
  };

  /** Sessions use `enqueue`, which is always there. */
  route(_request: InferenceRequest, _options?: RouteOptions): never {
    throw new Error('an I/O worker cannot route in one step');
  }

  abandon(request: InferenceRequest): void {
    this.#cancel(this.#prepared.get(request));
  }

  cancel(placement: Placement): void {
    this.#cancel(this.#placements.get(placement));
  }

  /** What the deciding thread has sent. */
  readonly receive = (batch: Batch): void => {
    const reader = new BatchReader(batch);
    while (!reader.isAtEnd) this.#take(reader.next(), reader);
  };

  #take(operation: number, reader: BatchReader): void {
    const key = reader.next<number>();
    const open = this.#open.get(key);
    switch (operation) {
      case TO_WORKER.placed:
        this.#place(open, readPlaced(reader));
        return;
      case TO_WORKER.refused: {
        const error = errorIn(reader);
        const placement = this.#settle(open);
        // A request that is still prepared has no placement yet.
        if (placement === undefined) open?.refuse?.(error);
        else placement.refused(error);
        return;
      }
      case TO_WORKER.answeredHere: {
        const answer = new LocalAnswer(reader.next());
        this.#settle(open)?.refused(answer);
        return;
      }
      case TO_WORKER.ready: {
        const ready = open?.ready;
        if (open !== undefined) open.ready = undefined;
        ready?.();
        return;
      }
      case TO_WORKER.refuse: {
        const error = errorIn(reader);
        open?.refuse?.(error);
        return;
      }
      default:
        throw new Error(`the deciding thread sent operation ${operation}, which is unknown here`);
    }
  }

  #place(open: AskedRequest | undefined, placed: Placed): void {
    const placement = open?.placement;
    // Its client has gone meanwhile; the deciding thread learns so by `cancel`.
    if (open === undefined || placement === undefined) return;
    const { key, request } = open;
    open.placement = undefined;
    this.#placements.delete(placement);
    if (placed.traceparent !== undefined) this.#onTraceparent(request.id, placed.traceparent);
    const onDone = (): void => void this.#open.delete(key);
    placement.placed(new RemoteRouted(request, placed, { key, outbox: this.#outbox, onDone }));
  }

  #begin(request: InferenceRequest, waits: Pick<AskedRequest, 'ready' | 'refuse'>): AskedRequest {
    const open = { key: this.#keys++, request, ...waits };
    this.#open.set(open.key, open);
    return open;
  }

  /** The request is over here without a pick. Returns what waited for one. */
  #settle(open: AskedRequest | undefined): Placement | undefined {
    if (open === undefined) return undefined;
    this.#open.delete(open.key);
    this.#prepared.delete(open.request);
    const { placement } = open;
    if (placement !== undefined) this.#placements.delete(placement);
    return placement;
  }

  #cancel(open: AskedRequest | undefined): void {
    if (open === undefined) return;
    this.#settle(open);
    this.#outbox.writer.put(TO_CORE.cancel, open.key);
  }
}

function errorIn(reader: BatchReader): RoutingError {
  const code = reader.next<RoutingErrorCode>();
  return new RoutingError(code, reader.next());
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
