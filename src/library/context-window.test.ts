import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import type { EmbeddedPicker } from './create-picker.ts';
import { createPicker } from './picker-maker.ts';
import type { CountedRequest } from './request-reader.ts';

const IDLE = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
const LONG = { model: 'm', promptTokens: 9000 };
const SHORT = { model: 'm', promptTokens: 100 };

/** The default policy over endpoints with so many tokens of KV memory; undefined for unknown. */
function pickerOver(kvTokens: readonly (number | undefined)[]): EmbeddedPicker {
  const picker = createPicker({ seed: 3, clock: new SimulatedClock() });
  for (const [at, tokens] of kvTokens.entries()) {
    const cache = tokens === undefined ? {} : { cache: { blockTokens: 16, blocks: tokens / 16 } };
    picker.addEndpoint({ id: `s${at}`, ...cache });
    picker.setMetrics(`s${at}`, IDLE);
  }
  return picker;
}

/** Whether any of some such requests goes to `s0`, one after another. */
function getsAny(picker: EmbeddedPicker, request: CountedRequest): boolean {
  const ids = Array.from({ length: 30 }, () => {
    const routed = picker.route(request);
    routed.firstToken();
    routed.done('completed');
    return String(routed.endpoint.id);
  });
  return ids.includes('s0');
}

/** `s0` refuses a long request and says how many tokens it takes. */
function refusedBy(picker: EmbeddedPicker, windowTokens: number): void {
  for (let tries = 0; tries < 50; tries++) {
    const routed = picker.route(LONG);
    if (routed.endpoint.id === 's0') {
      routed.windowReported?.(windowTokens);
      routed.done('completed');
      return;
    }
    routed.done('completed');
  }
  throw new Error('no long request went to s0');
}

describe('an endpoint with a short context window', () => {
  it('[Q268] gets no request that is longer, once it has refused one, and all others', () => {
    const picker = pickerOver([undefined, undefined, undefined]);
    refusedBy(picker, 8192);
    expect(getsAny(picker, LONG)).toBe(false);
    expect(getsAny(picker, SHORT)).toBe(true);
  });

  it('[Q268] is compared with the prompt and the answer that the client allows', () => {
    const picker = pickerOver([undefined, undefined]);
    refusedBy(picker, 8192);
    expect(getsAny(picker, { ...SHORT, outputTokensMax: 8092 })).toBe(true);
    expect(getsAny(picker, { ...SHORT, outputTokensMax: 8093 })).toBe(false);
  });

  it('[Q268] gets longer requests where no other endpoint is left', () => {
    const picker = pickerOver([undefined, undefined]);
    refusedBy(picker, 8192);
    picker.removeEndpoint('s1');
    expect(getsAny(picker, LONG)).toBe(true);
  });

  it('[Q268] is no longer one where an answer was longer', () => {
    const picker = pickerOver([undefined, undefined]);
    refusedBy(picker, 8192);
    const ending = (completionTokens: number): void => {
      const routed = picker.route(SHORT, { subset: ['s0'] });
      routed.done('completed', { promptTokens: 100, completionTokens, cachedTokens: undefined });
    };
    ending(8092);
    expect(getsAny(picker, LONG)).toBe(false);
    ending(8093);
    expect(getsAny(picker, LONG)).toBe(true);
  });

  it('[Q273] is not taken from its KV memory, because an answer may end before it is full', () => {
    const picker = pickerOver([8000, 160_000]);
    expect(getsAny(picker, { ...SHORT, outputTokensMax: 60_000 })).toBe(true);
  });
});
