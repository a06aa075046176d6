import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { slotWaitMs } from '../../cost-model/slot-wait.ts';
import { decodeStepMs, predictedTtftMs, stepUnderWay } from '../../cost-model/step-time.ts';
import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { KnownWhenSent, Reservation } from './endpoint-reservation.ts';
import type { ReservingLedger } from './ledger.ts';

export interface ExpectationParts extends Pick<Routed, 'request' | 'cachedTokens'> {
  readonly prefill: { readonly endpoint: Endpoint; readonly cachedTokens: number } | undefined;
  readonly ledger: Pick<ReservingLedger, 'load'>;
  readonly engineModel: EngineModel;
  /** When it is sent; where it is left out, the step under way is not known. */
  readonly at?: Millis | undefined;
}

export interface ReservationParts extends ExpectationParts {
  readonly ledger: ReservingLedger;
  readonly encoders: readonly Endpoint[];
  /** Counted until the end of the request, where the configuration asks for it. */
  readonly estimatedOutputTokens?: number | undefined;
  /** Where it is left out, the request is never taken for lost, too. */
  readonly at?: Millis | undefined;
  readonly firstTokenVisible?: boolean;
}

/** What is expected of a request at an endpoint, before it is reserved there. */
export interface Expected {
  readonly prefillTokens: number;
  readonly outputTokens: number;
  /** Time to the first token, and from one token to the next. */
  readonly ttftMs: Millis;
  readonly tpotMs: Millis;
}

export interface Reserved extends Pick<Expected, 'ttftMs' | 'tpotMs'> {
  /** What was in flight at the endpoint before this request. */
  readonly load: InFlightLoad;
  /** What was in flight before this request where its prompt is computed, if elsewhere. */
  readonly prefillLoad: InFlightLoad | undefined;
  /** Expected time from the first token to the end. */
  readonly decodeMs: Millis;
  readonly reservation: Reservation;
}

/** What an encoder has to do is not known in tokens. */
const NO_TOKENS = { prefillTokens: 0, contextTokens: 0 };

export function expectedAt(target: Endpoint, parts: ExpectationParts): Expected {
  const { request, prefill, ledger, engineModel, at } = parts;
  const { promptTokens } = request;
  const computes = prefill?.endpoint ?? target;
  const cachedTokens = prefill?.cachedTokens ?? parts.cachedTokens;
  const prefillTokens = Math.max(0, promptTokens - cachedTokens);
  const outputTokens = engineModel.expectedOutputTokens(request);
  const there = loadPerEngine(ledger.load(target), target);
  const tpotMs = decodeStepMs(there.requests, there.contextTokens, engineModel.stepTime(target));
  const tokens = { promptTokens, uncachedTokens: prefillTokens };
  const load = ledger.load(computes);
  const before = loadPerEngine(load, computes);
  const step = at === undefined ? undefined : stepUnderWay(computes, load, engineModel, at);
  const ttftMs =
    predictedTtftMs(before, tokens, engineModel.stepTime(computes), step) +
    slotWaitMs(there, outputTokens * tpotMs);
  return { prefillTokens, outputTokens, ttftMs, tpotMs };
}

/** Reserves a request's load where it is decoded, computed and encoded. */
export function reserve(target: Endpoint, parts: ReservationParts): Reserved {
  const { request, prefill, encoders, ledger } = parts;
  const { model, promptTokens } = request;
  const { prefillTokens, outputTokens, ttftMs, tpotMs } = expectedAt(target, parts);
  const load = ledger.load(target);
  const hereTokens = prefill === undefined ? prefillTokens : 0;
  // As the reference counts: also where the prompt is computed elsewhere.
  const countedTokens = Math.max(0, promptTokens - parts.cachedTokens);
  const estimated = parts.estimatedOutputTokens;
  const sent = knownWhenSent(parts, ttftMs);
  const [loadNow, prefillLoad] = [
    copyOfLoad(load),
    prefill && copyOfLoad(ledger.load(prefill.endpoint)),
  ];
  const decode = ledger.reserve(target, {
    model,
    prefillTokens: hereTokens,
    contextTokens: promptTokens + outputTokens,
    countedTokens,
    keptTokens: estimated === undefined ? undefined : countedTokens + estimated,
    sent,
  });
  return {
    load: loadNow,
    prefillLoad,
    ttftMs,
    tpotMs,
    decodeMs: outputTokens * tpotMs,
    reservation:
      prefill === undefined && encoders.length === 0
        ? decode
        : combined(decode, reserveBefore(parts, prefillTokens, sent)),
  };
}

/** The ledger changes its own object. */
export function copyOfLoad({
  requests,
  pendingPrefillTokens,
  contextTokens,
  runningMax,
}: InFlightLoad): InFlightLoad {
  return {
    requests,
    pendingPrefillTokens,
    contextTokens,
    ...(runningMax !== undefined && { runningMax }),
  };
}

/** Images are fetched before engines count a request, and prompts may be computed elsewhere. */
function knownWhenSent(
  { request, prefill, encoders, at, firstTokenVisible = false }: ReservationParts,
  ttftMs: Millis,
): KnownWhenSent | undefined {
  if (at === undefined) return undefined;
  const isWhole = prefill === undefined && encoders.length === 0;
  const isCountedAtOnce = isWhole && request.mediaItems === undefined;
  return { at, ttftMs, firstTokenVisible, isCountedAtOnce };
}

/** The load of the prompt and its media where they are computed for another endpoint. */
function reserveBefore(
  { request, prefill, encoders, ledger }: ReservationParts,
  prefillTokens: number,
  sent: KnownWhenSent | undefined,
): readonly Reservation[] {
  const { model, promptTokens } = request;
  const prompt = { model, prefillTokens, contextTokens: promptTokens, sent };
  return [
    ...(prefill === undefined ? [] : [ledger.reserve(prefill.endpoint, prompt)]),
    // The reference counts the prompt there, too: else its plugins would see all encoders alike.
    ...encoders.map((encoder) =>
      ledger.reserve(encoder, { model, ...NO_TOKENS, countedTokens: promptTokens, sent }),
    ),
  ];
}

/** A prompt or media that are computed elsewhere stay reserved there until the first token. */
function combined(decode: Reservation, before: readonly Reservation[]): Reservation {
  const releaseAll = (): void => {
    for (const each of before) each.release();
  };
  return {
    prefilled: () => {
      decode.prefilled();
      // The first token shows that these servers have done their part.
      for (const each of before) each.prefilled();
      releaseAll();
    },
    expectPrefilled: (isExpected) => {
      decode.expectPrefilled(isExpected);
      for (const each of before) each.expectPrefilled(isExpected);
    },
    moveTo: (endpoint) => decode.moveTo(endpoint),
    release: () => {
      releaseAll();
      decode.release();
    },
  };
}
