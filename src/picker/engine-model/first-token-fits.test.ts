import { expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../test/makers.ts';
import type { StepUnderWay } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { EngineModel } from './engine-model.ts';
import { FirstTokenFits } from './first-token-fits.ts';

const STEP_MS = 30;
const LOAD = { requests: 1, pendingPrefillTokens: 0, contextTokens: 0 };
const [ENDPOINT] = makePool([{}]) as readonly [Endpoint];

/**
 * A model and when the last step ended that it saw. One answer goes on all the time, and each prompt
 * comes in the step after one that was seen to end.
 */
class Taught {
  readonly model = new EngineModel();
  readonly #random = seededRandom(5);
  endsAt: Millis = 0;

  /** Each first token comes so long after its prompt was sent, of which `waitedMs` were in the step. */
  answers(count: number, ttftMs: (waitedMs: Millis, promptTokens: number) => Millis): void {
    for (let n = 0; n < count; n++) {
      const waitedMs = STEP_MS * this.#random.next();
      const promptTokens = Math.round(50 + 500 * this.#random.next());
      const request = makeRequest({ promptTokens });
      const routed = makeRouted(ENDPOINT, { at: this.endsAt + waitedMs, load: LOAD, request });
      this.model.onRouted(routed);
      this.endsAt = routed.at + ttftMs(waitedMs, promptTokens);
      this.model.onFirstToken(routed, this.endsAt);
    }
  }

  /** What it knows of the step right after one was seen to end. */
  step(): StepUnderWay {
    const step = { restMs: 0, tokens: 0, steps: 0, since: 0 };
    this.model.readStep(ENDPOINT, LOAD, this.endsAt, step);
    return step;
  }
}

/** As if prompts were prepared for a fixed time, whatever the step under way. */
const prepared = (_waitedMs: Millis, promptTokens: number): Millis => 50 + 0.05 * promptTokens;
/** A prompt is in the next step. */
const inNext = (waitedMs: Millis, promptTokens: number): Millis =>
  2 * STEP_MS - waitedMs + 0.05 * promptTokens;

it('[Q388] knows no step where first tokens are predicted better by when their prompts were sent', () => {
  const taught = new Taught();
  taught.answers(400, prepared);
  expect(taught.step()).toMatchObject({ restMs: 0, tokens: 0, steps: 0 });
  const { baseMs, overheadMs, perPrefillTokenMs } = taught.model.stepTime(ENDPOINT);
  expect(Math.abs(baseMs + overheadMs - 50)).toBeLessThan(3);
  expect(perPrefillTokenMs).toBeCloseTo(0.05, 2);
});

it('[Q388] knows the step again once first tokens are predicted better by it', () => {
  const taught = new Taught();
  taught.answers(400, prepared);
  taught.answers(1500, inNext);
  expect(Math.abs(taught.step().restMs - STEP_MS)).toBeLessThan(6);
});

it('[Q392] takes equal endpoints for equal when the way changes that counts', () => {
  const random = seededRandom(3);
  const fits = new FirstTokenFits();
  /** Steps count as two in times since prompts were sent, and are twice as many since steps began. */
  const answers = (count: number, sentNoise: number, stepNoise: number): void => {
    for (let n = 0; n < count; n++) {
      for (const [slot, promptMs] of [60, 5].entries()) {
        const chance = random.next() - 0.5;
        fits.observe({
          slot,
          pendingMs: 0,
          sinceSent: {
            features: [promptMs, 10, 1, 0],
            observedMs: (promptMs + 20) * Math.exp(sentNoise * chance),
          },
          sinceStep: {
            features: [promptMs, 20, 1, 0],
            observedMs: (promptMs + 20) * Math.exp(stepNoise * chance),
          },
        });
      }
      fits.update();
      for (const slot of [0, 1]) expect(Math.abs(fits.ratio(slot) - 1)).toBeLessThan(0.02);
    }
  };
  answers(300, 0.1, 0.8);
  expect(fits.seesSteps).toBe(false);
  answers(600, 0.8, 0.1);
  expect(fits.seesSteps).toBe(true);
});
