import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { decodeStepMs, PRIOR_STEP_TIME, prefillSteps } from '../../cost-model/step-time.ts';
import type { InFlightLoad, StepTime } from '../../framework/cycle-facts.ts';
import {
  type Demand,
  ENGINE_MODEL,
  type EngineModelView,
  type StepUnderWay,
} from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import {
  type EndpointObserver,
  type Outcome,
  type RequestObserver,
  type Routed,
  tokensToCompute,
  type Usage,
} from '../../framework/observer.ts';
import type { CycleFact } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Mutable } from '../../framework/values/mutable.ts';
import { AdapterNames } from './adapter-names.ts';
import { FirstTokenFits } from './first-token-fits.ts';
import { OutputLength } from './output-length.ts';
import { PrefillSpeeds } from './prefill-speeds.ts';
import { promptFeatures, scaled } from './prompt-features.ts';
import { RecentDemand } from './recent-demand.ts';
import { mayWaitForResources } from './resource-waits.ts';
import { type Moment, noStep, StepPhases, type StepsBefore } from './step-phases.ts';

/** After this many answers the step times are updated only with every `REFRESH_ANSWERS`th. */
const SETTLED_ANSWERS = 100;
const REFRESH_ANSWERS = 10;

const NO_LOAD: InFlightLoad = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/**
 * Learns from first tokens how fast the pool's engines are, and from them and from whole answers
 * whose first tokens are not seen how each endpoint differs from the rest. So mixed accelerators,
 * unknown models and engines that slow down need no setting.
 */
export class EngineModel implements RequestObserver, EndpointObserver, EngineModelView {
  readonly fact: CycleFact<EngineModelView> = { key: ENGINE_MODEL, compute: () => this };
  readonly adapters: AdapterNames = new AdapterNames();
  readonly #outputLength = new OutputLength();
  readonly #fits = new FirstTokenFits();
  readonly #prefill = new PrefillSpeeds();
  readonly #demand = new RecentDemand();
  readonly #steps = new StepPhases();
  #answers = 0;
  /** By slot, as of the last update: reading them must change nothing. */
  #stepTimes: StepTime[] = [];
  /** The step time of endpoints that have not answered yet: a pick reads it for each of them. */
  #unseenStepTime: StepTime = PRIOR_STEP_TIME;
  /** One for all reads: a pick reads the step of each endpoint where something runs. */
  readonly #moment: Mutable<Moment> = { at: 0, load: NO_LOAD, engine: PRIOR_STEP_TIME };

  stepTime({ slot }: Endpoint): StepTime {
    return this.#stepTimes[slot] ?? this.#unseenStepTime;
  }

  readStep(endpoint: Endpoint, load: InFlightLoad, at: Millis, into: Mutable<StepUnderWay>): void {
    if (!this.#fits.seesSteps) {
      noStep(at, into);
      return;
    }
    const moment = this.#moment;
    moment.at = at;
    moment.load = load;
    moment.engine = this.stepTime(endpoint);
    this.#steps.read(endpoint, moment, into);
  }

  demand({ slot }: Endpoint): Demand {
    return this.#demand.of(slot);
  }

  demandRate(now: Millis): number {
    return this.#demand.rate(now);
  }

  demandRateSinceStart(now: Millis): number {
    return this.#demand.rateSinceStart(now);
  }

  expectedOutputTokens(request: InferenceRequest): number {
    return this.#outputLength.expected(request);
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    this.adapters.onEndpointChanged(endpoint, previous);
  }

  onEndpointRemoved({ slot }: Endpoint): void {
    this.#demand.forget(slot);
    this.#fits.forget(slot);
    this.#steps.forget(slot);
    this.#prefill.forget(slot);
    this.#updateStepTimes();
  }

  onRouted(routed: Routed): void {
    const { request, endpoint, prefill, at } = routed;
    const computes = prefill ?? endpoint;
    if (prefill === undefined) this.#steps.sent(routed, this.#fits.wholeStepTime(endpoint.slot));
    const prefillTokens = Math.max(1, tokensToCompute(routed));
    // Without attention: decision 284 says what was measured with it.
    const promptMs = this.stepTime(computes).perPrefillTokenMs * prefillTokens;
    const answerMs = this.#answerMs(endpoint, request);
    if (prefill !== undefined) {
      this.#demanded(prefill, promptMs, at);
      this.#prefill.onRouted(routed, prefill);
    }
    this.#demanded(endpoint, prefill === undefined ? promptMs + answerMs : answerMs, at);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    const before = this.#steps.firstToken(routed, at);
    if (mayWaitForResources(routed, this.adapters)) return;
    const { prefill } = routed;
    if (prefill !== undefined) {
      this.#prefill.onFirstToken(routed, prefill, at);
      this.#answered();
      return;
    }
    const { slot } = routed.endpoint;
    const sinceSent = { features: featuresOf(routed), observedMs: at - routed.at };
    const sinceStep =
      before === undefined
        ? sinceSent
        : {
            features: featuresSince(routed, before),
            observedMs: at - before.since,
          };
    this.#prefill.onOwnFirstToken(routed, sinceSent.observedMs / this.#fits.ratio(slot));
    this.#fits.observe({ slot, pendingMs: pendingMsOf(routed), sinceStep, sinceSent });
    this.#answered();
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    this.#outputLength.onDone(routed, at, outcome, usage);
    this.#steps.done(routed, at, outcome);
    if (routed.prefill !== undefined) this.#prefill.onDone(routed);
    if (outcome !== 'completed' || usage === undefined || routed.firstTokenVisible) return;
    const { completionTokens } = usage;
    // Embeddings and rankings have no tokens: they are whole when their prompts are computed.
    if (completionTokens === 0 || completionTokens === 1) this.onFirstToken(routed, at);
    else this.#endedUnseen(routed, at, completionTokens);
  }

  #endedUnseen(routed: Routed, at: Millis, outputTokens: number): void {
    if (
      routed.prefill !== undefined ||
      mayWaitForResources(routed, this.adapters) ||
      !(outputTokens > 0)
    )
      return;
    const { slot } = routed.endpoint;
    const features = featuresOf(routed, outputTokens);
    const observedMs = Math.max(1e-3, at - routed.at);
    this.#fits.observeUnseen({ slot, pendingMs: pendingMsOf(routed), features, observedMs });
    this.#answered();
  }

  #answered(): void {
    this.#answers += 1;
    if (this.#answers > SETTLED_ANSWERS && this.#answers % REFRESH_ANSWERS !== 0) return;
    this.#fits.update();
    this.#prefill.update();
    this.#updateStepTimes();
  }

  /** Each of several engines gets its part of the requests. */
  #demanded(endpoint: Endpoint, workMs: Millis, at: Millis): void {
    const engines = endpoint.attribute(ENGINE_COUNT);
    this.#demand.add(endpoint.slot, { requests: 1 / engines, workMs: workMs / engines }, at);
  }

  #updateStepTimes(): void {
    const { stepTime } = this.#fits;
    this.#unseenStepTime = stepTime;
    this.#stepTimes = [];
    for (const slot of this.#prefill.slots()) {
      this.#stepTimes[slot] = this.#prefill.stepTime(slot);
    }
    // What a server does for itself shows its speed without a transfer.
    for (const slot of this.#fits.slots()) {
      this.#stepTimes[slot] = scaled(stepTime, this.#fits.ratio(slot));
    }
  }

  /** The time that one more sequence adds to its steps, without their fixed time. */
  #answerMs(endpoint: Endpoint, request: InferenceRequest): Millis {
    const { perSequenceMs, perContextTokenMs } = this.stepTime(endpoint);
    const outputTokens = this.expectedOutputTokens(request);
    const contextTokens = request.promptTokens + outputTokens / 2;
    return outputTokens * (perSequenceMs + perContextTokenMs * contextTokens);
  }
}

/** What the time to so many tokens of an answer depends on. */
function featuresOf(
  { request, load, endpoint, cachedTokens }: Routed,
  outputTokens = 1,
): readonly number[] {
  const { promptTokens } = request;
  const uncachedTokens = Math.max(0, promptTokens - cachedTokens);
  return promptFeatures({ load, endpoint }, { promptTokens, uncachedTokens }, outputTokens);
}

/** The part of the first of `featuresOf` that is of prompts which were pending there. */
function pendingMsOf({ load, endpoint }: Routed): Millis {
  const { pendingPrefillTokens } = loadPerEngine(load, endpoint);
  return PRIOR_STEP_TIME.perPrefillTokenMs * pendingPrefillTokens;
}

/** What the time since `before.since` depends on: with the steps and prompts before its own step. */
function featuresSince(routed: Routed, before: StepsBefore): readonly number[] {
  const { request, cachedTokens, endpoint } = routed;
  const load = loadPerEngine(routed.load, endpoint);
  const [all = 0, , one = 1, squares = 0] = featuresOf(routed);
  const uncachedTokens = Math.max(0, request.promptTokens - cachedTokens);
  const nextTokens = Math.max(0, load.pendingPrefillTokens - before.tokens) + uncachedTokens;
  const steps = before.steps + prefillSteps(nextTokens, PRIOR_STEP_TIME);
  return [all, steps * decodeStepMs(load.requests, load.contextTokens), one, squares];
}
