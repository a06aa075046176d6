import type { FlowControl } from '../../flow/control/flow-control.ts';
import type { FlowControlPlan } from '../../flow/control/flow-control-plan.ts';
import type { FlowPlace } from '../../flow/control/flow-place.ts';
import type { QueueDiscipline, Waiting } from '../../flow/discipline.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { sameParameters } from '../plan/same-parameters.ts';
import { NextLook } from '../waiting/next-look.ts';
import { type ControlledPicker, flowControlOver } from './controlled-picker.ts';
import type { FlowReports } from './flow-reports.ts';
import type { FlowEvent } from './flow-stay.ts';
import type { KeptRequest } from './kept-request.ts';
import type { KeptRequests } from './kept-requests.ts';
import type { LetThrough } from './let-through.ts';

export interface FlowRoundsOptions {
  readonly clock: Clock;
  readonly picker: () => ControlledPicker;
  /** The priority of each objective. Another map when anything of it has changed. */
  readonly objectives?: (() => ReadonlyMap<string, number>) | undefined;
  /** Puts meters around flow control. */
  readonly measured?: ((control: FlowControl) => QueueDiscipline) | undefined;
  readonly kept: KeptRequests;
  readonly letThrough: LetThrough;
  readonly reports: FlowReports;
}

/** What waits is looked at so often, also where no event is seen: samples age without one. */
const LOOK_MS: Millis = 10;

/**
 * Flow control by the plan in force, and the rounds in which it looks at all requests that wait. In
 * each round those that may go on do, those that have waited too long are refused, and requests in
 * flight that have to make room for others are ended.
 */
export class FlowRounds {
  readonly #options: FlowRoundsOptions;
  #plan: FlowControlPlan | undefined;
  #control: FlowControl | undefined;
  /** Flow control with its meters. */
  #discipline: QueueDiscipline | undefined;
  readonly #next: NextLook;
  #isBusy = false;

  constructor(options: FlowRoundsOptions) {
    this.#options = options;
    this.#next = new NextLook(options.clock, () => this.look());
  }

  /** Flow control as it is now; undefined where it is off. */
  get discipline(): QueueDiscipline | undefined {
    return this.#discipline;
  }

  /** From now on. What waits already is kept, as far as the new limits let it. */
  configure(plan: FlowControlPlan | undefined): void {
    if (plan === this.#plan || (plan && this.#plan && sameParameters(plan, this.#plan))) return;
    const { kept, reports } = this.#options;
    this.#plan = plan;
    if (plan === undefined) this.#placeAll();
    this.#discipline?.replaced();
    this.#replaceControl(plan);
    // A copy, because a request that goes on may bring others that are not to be added again.
    const waited = [...kept.values()];
    for (const each of waited) this.#addAgain(each);
    if (plan !== undefined) reports.saw('configuration');
    this.look();
  }

  placeOf(waiting: Waiting): FlowPlace | undefined {
    return this.#control?.placeOf(waiting);
  }

  /**
   * A round: drops requests that have waited too long, places those that may go on, and ends those
   * in flight that have to make room for others.
   */
  look(): void {
    const { clock, kept, letThrough, reports } = this.#options;
    const discipline = this.#discipline;
    if (this.#isBusy || discipline === undefined) return;
    this.#isBusy = true;
    reports.beginLook();
    const at = clock.now();
    try {
      for (const { waiting, error } of discipline.expired(at)) this.drop(kept.of(waiting), error);
      for (const { requests } of discipline.ready(at)) {
        for (const waiting of requests) this.#place(waiting, at);
      }
      for (const victim of discipline.evict?.(at) ?? []) letThrough.evict(victim);
    } finally {
      this.#isBusy = false;
      // Others still wait, also where a stream that goes on has thrown.
      if (kept.size > 0) this.#next.after(LOOK_MS);
    }
  }

  lookSoon(event: FlowEvent): void {
    const { kept, reports } = this.#options;
    if (kept.size === 0) return;
    reports.saw(event);
    this.#next.after(0);
  }

  drop(kept: KeptRequest | undefined, error: RoutingError): void {
    if (kept === undefined) return;
    this.#options.reports.left(kept, { kind: 'refused', error });
    this.#options.kept.drop(kept, error);
  }

  /** No round begins by itself any more. */
  stop(): void {
    this.#next.cancel();
  }

  #replaceControl(plan: FlowControlPlan | undefined): void {
    const { picker, letThrough, measured, objectives } = this.#options;
    const former = this.#control;
    const control = plan && flowControlOver(picker(), { plan, letThrough, objectives, former });
    this.#control = control;
    this.#discipline = control && (measured?.(control) ?? control);
  }

  #place(waiting: Waiting, at: Millis): void {
    const { kept: all, letThrough, reports } = this.#options;
    const kept = all.of(waiting);
    const isNew = kept?.isNew === true;
    const place = isNew ? undefined : this.placeOf(waiting);
    this.#discipline?.placed(waiting, at);
    if (kept === undefined) return;
    all.placed(kept);
    if (!isNew) reports.letGo(kept, place);
    const heldMs = isNew ? 0 : at - waiting.since;
    letThrough.add(waiting.request, { refuse: kept.options.refuse, heldMs });
    if (!isNew) this.#goOn(kept);
  }

  /**
   * The picker may have to prepare something, too. The stream asks `route` then, at once or from
   * another thread, or calls `abandon`.
   */
  #goOn({ waiting: { request }, body, ready, options }: KeptRequest): void {
    const picker = this.#options.picker();
    if (picker.prepare?.(request, body, ready, options) === true) return;
    ready();
  }

  /** Without flow control nothing waits here: all requests leave it as if they were placed. */
  #placeAll(): void {
    const { clock, kept } = this.#options;
    const at = clock.now();
    for (const { waiting } of kept.values()) this.#discipline?.placed(waiting, at);
  }

  /** A request that waited under the plan before this one. */
  #addAgain(kept: KeptRequest): void {
    if (this.#discipline === undefined) {
      this.#options.kept.placed(kept);
      this.#options.reports.letGo(kept, undefined);
      this.#goOn(kept);
      return;
    }
    try {
      this.#discipline.add(kept.waiting, this.#options.clock.now());
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      this.drop(kept, error);
    }
  }
}
