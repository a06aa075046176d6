import { decodeStepMs, predictedTtftMs } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { InFlightLoad } from '../../framework/keys.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { Ledger, Reservation } from './ledger.ts';

export interface ReservationParts extends Pick<Routed, 'request' | 'cachedTokens'> {
  readonly prefill: { readonly endpoint: Endpoint; readonly cachedTokens: number } | undefined;
  readonly encoders: readonly Endpoint[];
  readonly ledger: Ledger;
  readonly engineModel: EngineModel;
  /** Counted until the end of the request, where the configuration asks for it. */
  readonly estimatedOutputTokens?: number | undefined;
  readonly isElsewhere?: boolean | undefined;
}

export interface Reserved {
  /** What was in flight at the endpoint before this request. */
  readonly load: InFlightLoad;
  /** Expected time to the first token, and from there to the end. */
  readonly ttftMs: Millis;
  readonly tpotMs: Millis;
  readonly decodeMs: Millis;
  readonly reservation: Reservation;
}

/** The size of media in tokens is not known. */
const NO_TOKENS = { prefillTokens: 0, contextTokens: 0 };

/** Reserves a request's load where it is decoded, computed and encoded. */
export function reserve(target: Endpoint, parts: ReservationParts): Reserved {
  const { request, prefill, encoders, ledger, engineModel, isElsewhere } = parts;
  const { estimatedOutputTokens: estimated } = parts;
  const { endpoint: computes, cachedTokens } = prefill ?? { ...parts, endpoint: target };
  const prefillTokens = Math.max(0, request.promptTokens - cachedTokens);
  const outputTokens = engineModel.expectedOutputTokens(request);
  const { requests, pendingPrefillTokens, contextTokens } = ledger.load(target);
  const { model, promptTokens } = request;
  const prompt = { model, prefillTokens, contextTokens: promptTokens, isElsewhere };
  const whole = { ...prompt, contextTokens: request.promptTokens + outputTokens };
  const here = prefill === undefined ? whole : { ...whole, prefillTokens: 0 };
  const tpotMs = decodeStepMs(requests, contextTokens, engineModel.stepTime(target));
  return {
    // A copy, because the ledger changes its own object.
    load: { requests, pendingPrefillTokens, contextTokens },
    ttftMs: predictedTtftMs(
      ledger.load(computes),
      { promptTokens, uncachedTokens: prefillTokens },
      engineModel.stepTime(computes),
    ),
    tpotMs,
    decodeMs: outputTokens * tpotMs,
    reservation: combined(
      ledger.reserve(
        target,
        estimated === undefined ? here : { ...here, keptTokens: here.prefillTokens + estimated },
      ),
      [
        ...(prefill === undefined ? [] : [ledger.reserve(prefill.endpoint, prompt)]),
        ...encoders.map((encoder) => ledger.reserve(encoder, { ...prompt, ...NO_TOKENS })),
      ],
    ),
  };
}

/** A prompt or media that are computed elsewhere stay reserved there until the first token. */
function combined(decode: Reservation, before: readonly Reservation[]): Reservation {
  if (before.length === 0) return decode;
  const releaseAll = (): void => {
    for (const each of before) each.release();
  };
  return {
    prefilled: () => {
      decode.prefilled();
      releaseAll();
    },
    moveTo: (endpoint) => decode.moveTo(endpoint),
    release: () => {
      releaseAll();
      decode.release();
    },
  };
}
