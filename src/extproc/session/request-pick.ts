import type { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Placement, RoutedRequest } from '../../framework/routing.ts';
import type { StreamAction } from '../codec/stream-action.ts';
import { BODY_MODE, type ProtocolConfig } from '../codec/stream-event.ts';
import type { ReadRequest, SessionHead } from '../request-body/read-request.ts';
import { answerWithEndpoint, asksForEndpoint } from './endpoint-only.ts';
import { pickMutation } from './pick-mutation.ts';
import type { SessionRules } from './session-rules.ts';

/** What a pick needs of its session. */
export interface PickingSession {
  readonly emit: (action: StreamAction) => void;
  /** Runs what follows a wait, unless the session is over; what it throws refuses the request. */
  readonly resume: (go: () => void) => void;
  /** The pick is made; its answer comes next. */
  readonly onRouted: (routed: RoutedRequest) => void;
}

/**
 * The pick of one request, and its waits: for what the pick needs, and for an endpoint that can
 * begin the request.
 */
export class RequestPick implements Placement {
  readonly #options: SessionRules;
  readonly #session: PickingSession;
  #seesTokens = true;
  #subset: readonly string[] | undefined;
  #asksForEndpoint = false;
  #request: InferenceRequest | undefined;
  /** The request whose pick waits for something. */
  #preparing: InferenceRequest | undefined;
  /** What is read of the request that waits for an endpoint. */
  #unplaced: ReadRequest | undefined;
  #routed: RoutedRequest | undefined;
  /** The session may end within a call of the router: other requests go on in it, too. */
  #isCancelled = false;

  constructor(options: SessionRules, session: PickingSession) {
    this.#options = options;
    this.#session = session;
  }

  /** Events that come while the pick waits must wait, too. */
  get waits(): boolean {
    return this.#preparing !== undefined || this.#unplaced !== undefined;
  }

  /** Undefined until all is read that the pick needs. */
  get request(): InferenceRequest | undefined {
    return this.#request;
  }

  /** Undefined until the pick is made. */
  get routed(): RoutedRequest | undefined {
    return this.#routed;
  }

  configure({ responseBodyMode }: ProtocolConfig): void {
    this.#seesTokens = responseBodyMode !== BODY_MODE.none;
  }

  /** The request may go to these endpoints only. */
  allow(subset: readonly string[]): void {
    this.#subset = subset;
  }

  /** Throws RoutingError for headers that ask for an endpoint, where nothing can answer that. */
  onHeaders({ headers }: SessionHead, endOfStream: boolean): void {
    this.#asksForEndpoint = asksForEndpoint(headers, endOfStream, this.#options);
  }

  /** Picks, now or once what it needs is there. Throws RoutingError. Call it once. */
  begin(read: ReadRequest): void {
    this.#request = read.request;
    read.head.followed?.bodyRead(read.request);
    if (read.withoutBody === true || !this.#beginsToPrepare(read)) this.#pick(read);
  }

  /** The session is over, or the request is refused: nothing is to be placed any more. */
  cancel(): void {
    const { router } = this.#options;
    this.#isCancelled = true;
    if (this.#preparing !== undefined) router.abandon?.(this.#preparing);
    if (this.#unplaced === undefined) return;
    this.#unplaced = undefined;
    router.cancel?.(this);
  }

  placed(routed: RoutedRequest): void {
    const read = this.#unplaced;
    this.#unplaced = undefined;
    if (read === undefined) routed.done('aborted');
    else this.#session.resume(() => this.#sendPick(routed, read));
  }

  refused(error: unknown): void {
    this.#unplaced = undefined;
    this.#session.resume(() => fail(error));
  }

  /** Begins what has to be prepared for the pick; true where the pick is made later, or never. */
  #beginsToPrepare(read: ReadRequest): boolean {
    const { request, body } = read;
    const { router } = this.#options;
    const { prepare } = router;
    if (prepare === undefined) return false;
    const { resume } = this.#session;
    const go = (): void => {
      this.#preparing = undefined;
      this.#pick(read);
    };
    const refuse = (error: RoutingError): void => resume(() => fail(error));
    const subset = this.#subset;
    const waits = prepare(request, body, () => resume(go), { subset, refuse });
    if (this.#isCancelled) {
      router.abandon?.(request);
      return true;
    }
    this.#preparing = waits ? request : undefined;
    return waits;
  }

  #pick(read: ReadRequest): void {
    const { router, emitEndpointScores: scoresWanted } = this.#options;
    const isVisible = !this.#asksForEndpoint && !read.halfCloses;
    const options = {
      scoresWanted,
      subset: this.#subset,
      anywhere: read.withoutBody,
      firstTokenVisible: this.#seesTokens && isVisible,
      endVisible: isVisible,
    };
    const routed = router.enqueue
      ? router.enqueue(read.request, options, this)
      : router.route(read.request, options);
    if (this.#isCancelled) this.#giveBack(routed);
    else if (routed === undefined) this.#unplaced = read;
    else this.#sendPick(routed, read);
  }

  /** The session has ended during the call that placed the request, or let it wait. */
  #giveBack(routed: RoutedRequest | undefined): void {
    if (routed === undefined) this.#options.router.cancel?.(this);
    else routed.done('aborted');
  }

  #sendPick(
    routed: RoutedRequest,
    { head, contentLength, answerPick, halfCloses }: ReadRequest,
  ): void {
    this.#routed = routed;
    const { emit, onRouted } = this.#session;
    onRouted(routed);
    if (this.#asksForEndpoint) return answerWithEndpoint(routed, emit);
    const { emitEndpointScores: withScores, asksLoadReports } = this.#options;
    const asksLoad = asksLoadReports === true && !halfCloses;
    answerPick(pickMutation(routed, head, { contentLength, withScores, asksLoad }));
  }
}

function fail(error: unknown): never {
  throw error;
}
