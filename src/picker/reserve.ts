import { decodeStepMs, predictedTtftMs } from '../cost-model/step-time.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { InFlightLoad } from '../framework/keys.ts';
import type { Routed } from '../framework/observer.ts';
import type { Millis } from '../framework/runtime.ts';
import type { EngineModel } from './engine-model/engine-model.ts';
import type { Ledger, Reservation } from './ledger.ts';

export interface BookingParts extends Pick<Routed, 'request' | 'cachedTokens'> {
  readonly prefill: { readonly endpoint: Endpoint; readonly cachedTokens: number } | undefined;
  readonly encoders: readonly Endpoint[];
  readonly ledger: Ledger;
  readonly engineModel: EngineModel;
}

/** Reserves, after noting what was there and what the model makes of it. */
export function book(target: Endpoint, parts: BookingParts): Booking {
  const { request, prefill, encoders, ledger, engineModel } = parts;
  const { endpoint: computes, cachedTokens } = prefill ?? { ...parts, endpoint: target };
  const prefillTokens = Math.max(0, request.promptTokens - cachedTokens);
  const outputTokens = engineModel.expectedOutputTokens(request);
  const { requests, pendingPrefillTokens, contextTokens } = ledger.load(target);
  const prompt = { model: request.model, prefillTokens, contextTokens: request.promptTokens };
  const whole = { ...prompt, contextTokens: request.promptTokens + outputTokens };
  return {
    // A copy: the ledger's own goes on counting.
    load: { requests, pendingPrefillTokens, contextTokens },
    ttftMs: predictedTtftMs(ledger.load(computes), prefillTokens, engineModel.stepTime(computes)),
    decodeMs: outputTokens * decodeStepMs(requests, contextTokens, engineModel.stepTime(target)),
    reservation: inSeveralPlaces(
      ledger.reserve(target, prefill === undefined ? whole : { ...whole, prefillTokens: 0 }),
      [
        ...(prefill === undefined ? [] : [ledger.reserve(prefill.endpoint, prompt)]),
        ...encoders.map((encoder) => ledger.reserve(encoder, { ...prompt, ...NO_TOKENS })),
      ],
    ),
  };
}

/** How large images are nobody has said. */
const NO_TOKENS = { prefillTokens: 0, contextTokens: 0 };

/** A request whose prompt is computed, or media encoded, elsewhere holds those places until its first token comes. */
function inSeveralPlaces(decode: Reservation, before: readonly Reservation[]): Reservation {
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

export interface Booking {
  readonly load: InFlightLoad;
  readonly ttftMs: Millis;
  readonly decodeMs: Millis;
  readonly reservation: Reservation;
}
