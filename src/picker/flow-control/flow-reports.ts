import type { FlowPlace } from '../../flow/control/flow-place.ts';
import type { QueueDiscipline, Waiting } from '../../flow/discipline.ts';
import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { FlowEnd, FlowEvent, FlowStay } from './flow-stay.ts';
import type { KeptRequest } from './kept-request.ts';

interface FlowReportsOptions {
  readonly clock: Pick<Clock, 'now'>;
  /** Called for each request that flow control kept for a while, or refused. */
  readonly onStay: ((stay: FlowStay) => void) | undefined;
}

/**
 * Reports what became of the requests that flow control kept or refused, and after which events.
 */
export class FlowReports {
  readonly #options: FlowReportsOptions;
  /** The events since the last look began. */
  readonly #events = new Set<FlowEvent>();
  /** The events after which the present look was taken. */
  #seen: readonly FlowEvent[] = [];

  constructor(options: FlowReportsOptions) {
    this.#options = options;
  }

  /** Something happened that makes flow control look again. */
  saw(event: FlowEvent): void {
    this.#events.add(event);
  }

  /** Flow control looks at all that waits. */
  beginLook(): void {
    this.#seen = [...this.#events];
    this.#events.clear();
  }

  /** Adds a request, and reports it where it is refused: then it throws what `add` has thrown. */
  add(waiting: Waiting, discipline: QueueDiscipline, at: Millis): void {
    try {
      discipline.add(waiting, at);
    } catch (error) {
      if (error instanceof RoutingError) this.refused(waiting.request, error);
      throw error;
    }
  }

  /** A request goes on that has waited. */
  letGo(kept: KeptRequest, place: FlowPlace | undefined): void {
    this.left(kept, { kind: 'let-go', after: this.#seen, place });
  }

  /** A request that was kept goes on, is refused, or its client is gone. */
  left({ waiting, place }: KeptRequest, end: FlowEnd): void {
    const { request, since } = waiting;
    this.#tell({ request, since, place, end });
  }

  /** A request is refused that was not kept. */
  refused(request: InferenceRequest, error: RoutingError): void {
    const since = this.#options.clock.now();
    this.#tell({ request, since, place: undefined, end: { kind: 'refused', error } });
  }

  /** A request that still waits. */
  ofWaiting({ waiting: { request, since }, place }: KeptRequest): FlowStay {
    return { request, since, place, end: undefined, at: this.#options.clock.now() };
  }

  #tell(stay: Omit<FlowStay, 'at'>): void {
    this.#options.onStay?.({ ...stay, at: this.#options.clock.now() });
  }
}
