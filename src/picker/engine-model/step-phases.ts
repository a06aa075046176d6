import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { waitsForSlot } from '../../cost-model/slot-wait.ts';
import { decodeStepMs } from '../../cost-model/step-time.ts';
import type { InFlightLoad, StepTime, StepUnderWay } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import { type Outcome, type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Mutable } from '../../framework/values/mutable.ts';

/** A moment for which it is asked where an endpoint is in its step, with what is known then. */
export interface Moment {
  readonly at: Millis;
  readonly load: InFlightLoad;
  readonly engine: StepTime;
}

/** What an endpoint had to do when a prompt was sent there, before the step with the prompt. */
export type StepsBefore = Pick<StepUnderWay, 'since' | 'steps' | 'tokens'>;

interface PromptSteps extends StepsBefore {
  readonly promptTokens: number;
  isPending: boolean;
}

/** What was seen of the steps of one endpoint. */
interface Phase {
  /** The endpoint as it was last read, and how many engines it has. */
  endpoint: Endpoint;
  engines: number;
  /** When a step ended, the last time that this was seen. */
  endedAt: Millis;
  /** Tokens of pending prompts that were sent before that: they are in the step that began then. */
  tokensBefore: number;
  /** Tokens of those that were sent since. */
  tokensSince: number;
  /** When the step begins, or has begun, in which the first of these are. */
  nextAt: Millis;
  /** Tokens of those that were sent before that. */
  tokensInNext: number;
  /** How many steps there are until it, since which moment. */
  stepsToNext: number;
  stepsSince: Millis;
}

/**
 * Where each endpoint is in its step, as far as it shows: a first token, or the end of an answer,
 * is the end of a step, in which the next one begins at once. Prompts that were sent before are
 * computed in it, and later ones wait for its end. Streamed tokens are not seen, so that after an
 * unseen step all that is known is that one is under way.
 */
export class StepPhases {
  /** By slot. */
  readonly #phases: (Phase | undefined)[] = [];
  readonly #sent = new WeakMap<Routed, PromptSteps>();

  /** A prompt was sent to the endpoint that answers, which computes it. */
  sent(routed: Routed, engine: StepTime): void {
    const { endpoint, at, load } = routed;
    const promptTokens = tokensToCompute(routed);
    const step = { restMs: 0, tokens: 0, steps: 0, since: at };
    this.read(endpoint, { at, load, engine }, step);
    const { since, steps, tokens } = step;
    this.#sent.set(routed, { since, steps, tokens, promptTokens, isPending: true });
    const phase = (this.#phases[endpoint.slot] ??= newPhase(endpoint));
    if (phase.tokensSince === 0) {
      phase.nextAt = at + step.restMs;
      phase.tokensInNext = promptTokens;
      phase.stepsToNext = steps;
      phase.stepsSince = since;
    } else if (at <= phase.nextAt) {
      phase.tokensInNext += promptTokens;
    }
    phase.tokensSince += promptTokens;
  }

  /** Its first token came. Returns what was before its step, where that was noted. */
  firstToken(routed: Routed, at: Millis): StepsBefore | undefined {
    this.#ended(routed, at);
    return this.#sent.get(routed);
  }

  done(routed: Routed, at: Millis, outcome: Outcome): void {
    if (outcome === 'completed') this.#ended(routed, at);
    else this.#take(routed);
  }

  forget(slot: number): void {
    this.#phases[slot] = undefined;
  }

  /** Writes what the endpoint has under way at the moment. */
  read(endpoint: Endpoint, moment: Moment, into: Mutable<StepUnderWay>): void {
    const phase = this.#phases[endpoint.slot];
    noStep(moment.at, into);
    // An idle engine begins a step as soon as a prompt comes.
    if (phase === undefined || moment.load.requests === 0) return;
    // Which of several engines gets it is not known, nor what it computes while it lacks slots.
    const isKnown = enginesOf(phase, endpoint) === 1 && !waitsForSlot(moment.load);
    if (isKnown) readStep(phase, moment, into);
    else readUnknown(loadPerEngine(moment.load, endpoint), moment.engine, into);
  }

  #ended(routed: Routed, at: Millis): void {
    this.#take(routed);
    const phase = this.#phases[routed.endpoint.slot];
    if (phase === undefined) return;
    // A request that another picker has served is learned of after its end.
    phase.endedAt = Math.max(at, phase.endedAt);
    phase.tokensBefore += phase.tokensSince;
    phase.tokensSince = 0;
    phase.tokensInNext = 0;
  }

  /** Its prompt is no longer pending. */
  #take(routed: Routed): void {
    const sent = this.#sent.get(routed);
    const phase = this.#phases[routed.endpoint.slot];
    if (sent === undefined || phase === undefined || !sent.isPending) return;
    sent.isPending = false;
    const isBefore = routed.at <= phase.endedAt;
    const tokens = isBefore ? phase.tokensBefore : phase.tokensSince;
    const left = Math.max(0, tokens - sent.promptTokens);
    if (isBefore) phase.tokensBefore = left;
    else phase.tokensSince = left;
  }
}

/** Nothing is known of a step, or none is under way. */
export function noStep(at: Millis, into: Mutable<StepUnderWay>): void {
  into.restMs = 0;
  into.tokens = 0;
  into.steps = 0;
  into.since = at;
}

/** Looked up once for each sample: a pick asks it of every endpoint where something runs. */
function enginesOf(phase: Phase, endpoint: Endpoint): number {
  if (phase.endpoint !== endpoint) {
    phase.endpoint = endpoint;
    phase.engines = endpoint.attribute(ENGINE_COUNT);
  }
  return phase.engines;
}

function newPhase(endpoint: Endpoint): Phase {
  return {
    endpoint,
    engines: endpoint.attribute(ENGINE_COUNT),
    endedAt: Number.NEGATIVE_INFINITY,
    tokensBefore: 0,
    tokensSince: 0,
    nextAt: 0,
    tokensInNext: 0,
    stepsToNext: 0,
    stepsSince: 0,
  };
}

function readStep(phase: Phase, moment: Moment, into: Mutable<StepUnderWay>): void {
  const { at, load, engine } = moment;
  const { endedAt, tokensBefore, tokensSince, nextAt } = phase;
  const pending = load.pendingPrefillTokens;
  if (at < endedAt) {
    readUnknown(load, engine, into);
  } else if (pending > 0 && tokensBefore > 0) {
    into.tokens = tokensBefore;
    into.since = endedAt;
    readBegun(endedAt, moment, into);
  } else if (pending === 0 || tokensSince === 0) {
    into.since = endedAt;
    readBegun(endedAt, moment, into);
  } else {
    into.steps = phase.stepsToNext;
    into.since = phase.stepsSince;
    if (at < nextAt) {
      into.restMs = nextAt - at;
      return;
    }
    into.tokens = phase.tokensInNext;
    readBegun(nextAt, moment, into);
  }
}

/**
 * What is left of a step that began then. Its prompt tokens, and the steps before it since a moment,
 * are in `into` already: an object for them would be made for each endpoint of a pick. A step that
 * has no prompt ends unseen; one that has prompts is known to go on, but where it takes much longer
 * than it should, they wait for something else.
 */
function readBegun(startedAt: Millis, moment: Moment, into: Mutable<StepUnderWay>): void {
  const { at, load, engine } = moment;
  // Others than ours are pending, too, and ours may be computed without a first token that is seen.
  const inStep = Math.min(load.pendingPrefillTokens, into.tokens, engine.prefillTokensMax);
  const stepMs = decodeStepMs(load.requests, load.contextTokens, engine);
  const wholeMs = stepMs + engine.perPrefillTokenMs * inStep;
  const restMs = startedAt + wholeMs - at;
  if (restMs <= (inStep > 0 ? -wholeMs : 0)) {
    noStep(at, into);
    readUnknown(load, engine, into);
    return;
  }
  into.restMs = Math.max(0, restMs);
  into.tokens = inStep;
  into.steps += 1;
}

/** Half of a step is left, in the mean, if one is under way. */
function readUnknown(
  { requests, contextTokens }: InFlightLoad,
  engine: StepTime,
  into: Mutable<StepUnderWay>,
): void {
  into.steps = Math.min(1, requests) / 2;
  into.restMs = into.steps * decodeStepMs(requests, contextTokens, engine);
}
