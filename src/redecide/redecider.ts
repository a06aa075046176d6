import type { Endpoint } from '../framework/endpoint.ts';
import { PluginFailure, type PluginFault, RoutingError } from '../framework/error.ts';
import type { ReplacementReport } from '../framework/replacement.ts';
import type { InferenceRequest } from '../framework/request.ts';
import { noNetwork } from '../framework/runtime.ts';
import type { Decision } from '../framework/scheduling.ts';
import type { DecidedRecord } from '../journal/capture/capture-record.ts';
import {
  type CapturedDecision,
  type CaptureHead,
  type CaptureRecord,
  decisionOf,
} from '../journal/capture/capture-record.ts';
import { withoutNetwork } from '../library/create-picker.ts';
import type { Purpose } from '../picker/cycles/candidates.ts';
import { OBSERVED } from '../picker/cycles/cycle.ts';
import { EndpointPicker } from '../picker/endpoint-picker.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import {
  applyEndpointRecord,
  applyRecordedDecision,
  capturedExpectation,
  optionsOf,
  requestOf,
  takenDecision,
} from './captured-inputs.ts';
import { capturedPlan, uncapturedUnder } from './captured-plan.ts';
import { type Comparison, compareDecision } from './compare-decision.ts';
import { DecidingPlans } from './deciding-plans.ts';
import { type Explained, ObservedDifferences } from './observed-differences.ts';
import { type ExpectedToken, OpenRequests } from './open-requests.ts';
import type { RedecideOptions } from './redecide-options.ts';
import type { Redecision } from './redecision.ts';
import { ReplayClock } from './replay-clock.ts';

/** What this core makes of one captured request. */
interface Remade {
  /** Undefined where it cannot be decided. */
  decision?: Decision;
  comparison: Comparison;
  explained?: Explained | undefined;
}

interface Taking {
  readonly request: InferenceRequest;
  readonly remade: Remade;
  readonly purpose: Purpose;
}

/** A decision core that gets the recorded inputs of another one. */
export class Redecider {
  readonly #options: RedecideOptions;
  readonly #clock: ReplayClock;
  readonly #picker: EndpointPicker;
  readonly #open: OpenRequests;
  readonly #differences = new ObservedDifferences();
  /** Whether it decides by the capture's own configurations. */
  readonly #isOwn: boolean;
  readonly #plans: DecidingPlans;
  /** The first failure of a plugin. */
  #fault: PluginFault | undefined;
  /** The request that another process was asked about. The answer belongs to this very object. */
  #prepared: { readonly n: number; readonly request: InferenceRequest } | undefined;

  constructor(head: CaptureHead, options: RedecideOptions) {
    const { seed, config: captured, timers, t, pool = [] } = head;
    const { catalogue, config, randomOf, schedulerRuntime } = options;
    this.#options = options;
    this.#clock = new ReplayClock(timers);
    this.#open = new OpenRequests(options.onFirstToken);
    const offline = { ...catalogue, dataSources: catalogue.dataSources.map(withoutNetwork) };
    const planOf = (own: unknown): PickerPlan => capturedPlan(own, { catalogue: offline, config });
    this.#isOwn = config === undefined;
    const plan = planOf(captured);
    const network = noNetwork('a replay');
    this.#picker = new EndpointPicker({
      plan,
      runtime: { clock: this.#clock, random: randomOf(seed), network },
      ...(schedulerRuntime && { schedulerRuntime }),
      onFault: (fault) => {
        this.#fault ??= fault;
      },
    });
    const onUncaptured = (what: string): void => options.onUncaptured?.(what);
    this.#plans = new DecidingPlans({
      picker: this.#picker,
      clock: this.#clock,
      plan,
      planOf,
      isOwn: this.#isOwn,
      onUncaptured,
    });
    for (const what of uncapturedUnder(head)) onUncaptured(what);
    if (pool.length > 0) {
      this.#clock.setUp(t, () => {
        for (const record of pool) applyEndpointRecord(this.#picker, record);
      });
    }
  }

  /**
   * Call before `take` for a request that another process decides. Resolves when the process has
   * answered or has failed to; at once where nothing has to be waited for.
   */
  async prepare({ t, n, r, subset }: DecidedRecord): Promise<void> {
    const request = requestOf(r);
    this.#prepared = { n, request };
    await new Promise<void>((resolve) => {
      const ask = (): boolean => this.#picker.prepare?.(request, [], resolve, { subset }) ?? false;
      if (!this.#clock.runEvent(t, ask)) resolve();
    });
  }

  /**
   * Applies a record. Returns a decision for a request's record only. Throws where a plugin of
   * another configuration than the capture's own fails: without it, the decisions are not those of
   * the configuration.
   */
  take(record: Exclude<CaptureRecord, { e: 'capture' }>): Redecision | undefined {
    this.#differences.note(record);
    const redecision = this.#apply(record);
    if (this.#fault !== undefined && !this.#isOwn) throw new PluginFailure(this.#fault);
    return redecision;
  }

  #apply(record: Exclude<CaptureRecord, { e: 'capture' }>): Redecision | undefined {
    // Only records of endpoints have an id.
    if ('id' in record) {
      applyEndpointRecord(this.#picker, record);
      return undefined;
    }
    switch (record.e) {
      case 'q':
        return this.#clock.runEvent(record.t, () => this.#decide(record));
      case 'timer':
        this.#clock.fire(record.i, record.t);
        return undefined;
      case 'first':
      case 'served':
      case 'body':
      case 'answer':
      case 'done':
        this.#clock.runEvent(record.t, () => this.#open.apply(record));
        return undefined;
      case 'adopt':
      case 'challenge':
      case 'withdraw':
        this.#plans.change(record);
        return undefined;
      case 'gap':
        return undefined;
    }
  }

  /** Whether a replacement decides in place of the profiles. */
  get isReplaced(): boolean {
    return this.#plans.isReplaced;
  }

  /** Stops the plugins, and closes the connection to a scheduler in another process. */
  stop(): void {
    this.#picker.stop();
  }

  /** The state of the replacement; undefined where the profiles decide. */
  replacement(): ReplacementReport | undefined {
    return this.#picker.replacement();
  }

  #decide(record: DecidedRecord): Redecision {
    const { n, r, d: was } = record;
    const refused = this.#isOwn && 'error' in was ? was : undefined;
    // How long requests wait is no part of a decision: the capture says it. Such a one went
    // nowhere.
    const isTimeout = refused?.error === 'queue-timeout';
    const remade: Remade = { comparison: {} };
    let failed: RoutingError | undefined;
    try {
      this.#remake(record, remade, isTimeout ? 'waiting' : 'placing');
    } catch (error) {
      if (!(error instanceof RoutingError)) throw error;
      failed = error;
    }
    this.#plans.decided(record);
    const { decision, comparison, explained } = remade;
    const decided: CapturedDecision = (decision && decisionOf(decision)) ?? {
      error: failed?.code ?? 'saturated',
    };
    const is = isTimeout || refused?.by !== undefined ? was : decided;
    // Decisions of the capture's own replacement come from the capture, so they always count.
    const undecided = this.isReplaced && !this.#isOwn && !('error' in is) && is.by === undefined;
    const said = { ...(explained && { explained }), ...(undecided && { undecided }) };
    return { n, request: r, was, is, ...comparison, ...said };
  }

  /**
   * Fills `remade` as far as it comes, and reserves where the request was to be placed. One that
   * only waited makes no trial, and does not have endpoints looked at that may fail. Throws
   * RoutingError where no endpoint can take the request.
   */
  #remake(record: DecidedRecord, remade: Remade, purpose: Purpose): void {
    const { n, r, d: was } = record;
    const request = this.#prepared?.n === n ? this.#prepared.request : requestOf(r);
    const { predicts, isShadow } = this.#plans.assign(record, request);
    const isTaken = this.#isOwn && !isShadow;
    if (isTaken && this.#takeDecision(record, { request, remade, purpose })) return;
    const cycle = this.#picker.decideOnly(request, optionsOf(record), purpose);
    const { all } = cycle;
    const own = isShadow ? { ...cycle.decision, decidedBy: was.by } : cycle.decision;
    cycle.expected = isShadow ? capturedExpectation(record) : undefined;
    remade.decision = own;
    remade.comparison = compareDecision(own, was, cycle, {
      predicts,
      explains: this.#options.explains === true,
      namesBest: this.#options.namesBest === true,
      inFlight: this.#picker.ledger,
    });
    const actual = this.#explainable(was, all);
    remade.explained = actual && this.#differences.explain(actual, cycle);
    // One that was refused went nowhere, also as if decided: nobody knows when it would have ended.
    if (purpose === 'waiting' || 'error' in was) return;
    const placed = this.#keepsHistory ? applyRecordedDecision(own, all, was) : own;
    const routed = this.#picker.reserveOnly(cycle, placed);
    this.#open.add(n, routed, this.#expectedToken(record, remade.comparison));
  }

  /**
   * Takes from the capture what another process or a challenger decided, and reserves by it unless
   * it refused the request. False where the profiles decided, or the endpoint is not there.
   */
  #takeDecision(record: DecidedRecord, { request, remade, purpose }: Taking): boolean {
    const { n, d: was } = record;
    if (was.by === undefined) return false;
    const cycle = this.#picker.beginOnly(request, optionsOf(record), purpose);
    if ('error' in was) return true;
    const decision = takenDecision(was, cycle.all);
    if (decision === undefined) return false;
    cycle.expected = capturedExpectation(record);
    remade.decision = decision;
    this.#open.add(n, this.#picker.reserveOnly(cycle, decision), undefined);
    return true;
  }

  /** Where an observed picker, whose samples are not known, sent a request that profiles decide. */
  #explainable(was: CapturedDecision, all: readonly Endpoint[]): Endpoint | undefined {
    if ('error' in was || was.by !== OBSERVED || this.#isOwn || this.isReplaced) return undefined;
    return all.find(({ id }) => id === was.endpoint);
  }

  /** Whether later decisions build on where requests really went. */
  get #keepsHistory(): boolean {
    return this.#options.state !== 'as-if-decided';
  }

  /** Undefined where a first token cannot be seen, or nobody asks for it. */
  #expectedToken(
    { t, r, firstTokenSeen }: DecidedRecord,
    { ttftMs }: Comparison,
  ): ExpectedToken | undefined {
    const { onFirstToken } = this.#options;
    if (onFirstToken === undefined || !this.#keepsHistory || ttftMs === undefined) return undefined;
    if (!firstTokenSeen || !r.streaming) return undefined;
    return { request: r, at: t, predictedMs: ttftMs.was };
  }
}
