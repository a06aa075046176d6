import type { QueueDiscipline, Served } from '../../flow/discipline.ts';
import { RoutingError } from '../../framework/error.ts';
import type { RequestObserver } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { FirstBand, PrepareOptions } from '../../framework/routing.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { servedOf } from './controlled-picker.ts';
import type { FlowEvent } from './flow-stay.ts';
import { LeftToOthers } from './left-to-others.ts';

const NOTHING: Served = { promptTokens: 0, outputTokens: 0, latencyMs: 0 };

interface Passed extends Pick<PrepareOptions, 'refuse'> {
  readonly heldMs: Millis;
}

interface Unrouted extends Pick<InferenceRequest, 'promptTokens'> {
  /** How long it has waited. */
  readonly heldMs: Millis;
}

interface LetThroughOptions {
  readonly clock: Clock;
  /** What waits at other replicas of this picker. */
  readonly waitingElsewhere?: (() => readonly FirstBand[]) | undefined;
  /** Flow control as it is now; undefined where it is off. */
  readonly discipline: () => QueueDiscipline | undefined;
  /**
   * Called after a first token or an end, here or at another replica: an endpoint may have room.
   */
  readonly onRoom: (event: FlowEvent) => void;
  /** A request that was let through is ended for others. */
  readonly onEvicted: (request: InferenceRequest, error: RoutingError) => void;
}

/** The requests that flow control has let go on, by id, until each of them has ended. */
export class LetThrough {
  readonly #options: LetThroughOptions;
  /** The requests that the ledger does not have yet, by id. */
  readonly #unrouted = new Map<string, Unrouted>();
  #unroutedTokens = 0;
  readonly #refusals = new Map<string, Passed['refuse']>();
  readonly #placesLeft = new LeftToOthers();

  /** Observes the requests of the picker. */
  readonly observer: RequestObserver = {
    onFirstToken: () => this.#options.onRoom('first-token'),
    onDone: (routed, at, _outcome, usage) => {
      if (this.#forget(routed.request)) this.#end(routed.request, servedOf(routed, at, usage));
    },
  };

  /** Observes the requests of other replicas. */
  readonly elsewhereObserver: RequestObserver = {
    onRouted: ({ request, at }) => {
      this.#placesLeft.taken();
      this.#options.discipline()?.placedElsewhere?.(request, at);
    },
    onFirstToken: () => this.#options.onRoom('first-token'),
    onDone: (routed, at, _outcome, usage) => {
      const served = servedOf(routed, at, usage);
      this.#options.discipline()?.endedElsewhere?.(routed.request, served, at);
      this.#options.onRoom('end');
    },
  };

  constructor(options: LetThroughOptions) {
    this.#options = options;
  }

  /**
   * How many places are taken that no ledger shows yet: by requests on their way to the picker, and
   * by requests of other replicas, for which places are left.
   */
  get unseen(): number {
    return this.#unrouted.size + this.#placesLeft.count(this.#options.clock.now());
  }

  /** The prompt tokens of requests on their way. What other replicas will send is not known. */
  get unseenTokens(): number {
    return this.#unroutedTokens;
  }

  /** Requests on their way: the ledger does not have them yet. */
  get unroutedSize(): number {
    return this.#unrouted.size;
  }

  add({ id, promptTokens }: InferenceRequest, { refuse, heldMs }: Passed): void {
    this.#refusals.set(id, refuse);
    this.#unrouted.set(id, { promptTokens, heldMs });
    this.#unroutedTokens += promptTokens;
  }

  /** Undefined where it was not let through, or is routed already. */
  heldMs({ id }: InferenceRequest): Millis | undefined {
    return this.#unrouted.get(id)?.heldMs;
  }

  /** The ledger has it, or never will. */
  routed(request: InferenceRequest): void {
    this.#arrived(request);
  }

  /** Its stream is over: it goes nowhere, unless it is routed already. */
  abandon(request: InferenceRequest): void {
    if (this.#arrived(request)) this.release(request);
  }

  /** It was let go, and goes nowhere. */
  release(request: InferenceRequest): void {
    if (this.#forget(request)) this.#end(request, NOTHING);
  }

  /** Ends it with an answer to its client. */
  evict(request: InferenceRequest): void {
    const { id, priority } = request;
    const sentence = `requests of a higher priority than ${priority} need the room of this one`;
    const error = new RoutingError('evicted', `the request was ended: ${sentence}`);
    this.#options.onEvicted(request, error);
    this.#refusals.get(id)?.(error);
  }

  /** It is on its way no more. Returns whether it was. */
  #arrived({ id }: InferenceRequest): boolean {
    const unrouted = this.#unrouted.get(id);
    if (unrouted === undefined) return false;
    this.#unrouted.delete(id);
    this.#unroutedTokens -= unrouted.promptTokens;
    return true;
  }

  /** Forgets the request. Returns false where it was not let through, or has ended already. */
  #forget({ id }: InferenceRequest): boolean {
    return this.#refusals.delete(id);
  }

  #end(request: InferenceRequest, served: Served): void {
    const { clock, waitingElsewhere, discipline, onRoom } = this.#options;
    const at = clock.now();
    discipline()?.ended(request, served, at);
    const others = waitingElsewhere?.() ?? [];
    if (others.length > 0) this.#placesLeft.freed(discipline()?.firstBand, others, at);
    onRoom('end');
  }
}
