import { describe, expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../test/makers.ts';
import { decodeStepMs, PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { InFlightLoad, StepUnderWay } from '../../framework/cycle-facts.ts';
import type { AttributeKey, Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import { StepPhases } from './step-phases.ts';

const [endpoint] = makePool([{}]) as unknown as readonly [Endpoint];
const [engines] = makePool([
  { attributes: [[ENGINE_COUNT as AttributeKey<never>, 2]] },
]) as unknown as readonly [Endpoint];
/** What 1,000 tokens take without the step, and a step of the one answer under way. */
const PROMPT_MS = 40;
const STEP_MS = decodeStepMs(1, 0);

function prompt(at: number, load: Partial<InFlightLoad> = {}): Routed {
  const none = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
  const request = makeRequest({ promptTokens: 1000 });
  return makeRouted(endpoint, { at, request, load: { ...none, ...load } });
}

/** The step at a time, beside one answer, where so many tokens are pending. */
function stepAt(
  phases: StepPhases,
  at: number,
  { pending = 0, requests = 1, where = endpoint, runningMax = 1000 } = {},
): StepUnderWay {
  const step = { restMs: 0, tokens: 0, steps: 0, since: 0 };
  const load = { requests, pendingPrefillTokens: pending, contextTokens: 0, runningMax };
  phases.read(where, { at, load, engine: PRIOR_STEP_TIME }, step);
  return step;
}

/** One answer is under way, whose first token came at 100. */
function begun(): StepPhases {
  const phases = new StepPhases();
  const first = prompt(50);
  phases.sent(first, PRIOR_STEP_TIME);
  phases.firstToken(first, 100);
  return phases;
}

describe('the step that a server is in', () => {
  it('[Q384] is not there where nothing is under way', () => {
    expect(stepAt(new StepPhases(), 100).restMs).toBe(0);
    expect(stepAt(begun(), 100, { requests: 0 }).restMs).toBe(0);
  });

  it('[Q384] has just begun at a first token, and is over after its time', () => {
    const phases = begun();
    expect(stepAt(phases, 100).restMs).toBeCloseTo(STEP_MS);
    expect(stepAt(phases, 104).restMs).toBeCloseTo(STEP_MS - 4);
  });

  it('[Q384] has just begun at the end of an answer, and not where one fails', () => {
    const [ended, failed] = [begun(), begun()];
    ended.done(prompt(20), 200, 'completed');
    failed.done(prompt(20), 200, 'failed');
    expect(stepAt(ended, 201).restMs).toBeCloseTo(STEP_MS - 1);
    expect(stepAt(failed, 201).restMs).toBeCloseTo(STEP_MS / 2);
  });

  it('[Q385] is half over in the mean where its beginning was not seen', () => {
    expect(stepAt(begun(), 150)).toMatchObject({ steps: 0.5, since: 150 });
    expect(stepAt(begun(), 150).restMs).toBeCloseTo(STEP_MS / 2);
    expect(stepAt(begun(), 100, { where: engines }).restMs).toBeLessThan(STEP_MS);
  });

  it('[Q385] is half over in the mean from the sample on that says how many engines there are', () => {
    const phases = begun();
    expect(stepAt(phases, 104).since).toBe(100);
    expect(stepAt(phases, 104, { where: engines }).since).toBe(104);
    expect(stepAt(phases, 104).since).toBe(100);
  });

  it('[Q386] has the prompts that were sent before it began, and later ones are in the next', () => {
    const phases = begun();
    const [second, third] = [prompt(102, { requests: 1 }), prompt(110, { requests: 2 })];
    phases.sent(second, PRIOR_STEP_TIME);
    // The step that began at 100 ends first.
    expect(stepAt(phases, 103, { pending: 1000 })).toMatchObject({ tokens: 0, since: 100 });
    expect(stepAt(phases, 103, { pending: 1000 }).restMs).toBeCloseTo(STEP_MS - 3);
    const next = stepAt(phases, 110, { pending: 1000 });
    expect(next).toMatchObject({ tokens: 1000, steps: 2, since: 100 });
    expect(next.restMs).toBeCloseTo(2 * STEP_MS + PROMPT_MS - 10);
    phases.sent(third, PRIOR_STEP_TIME);
    phases.firstToken(second, 155);
    expect(stepAt(phases, 160, { pending: 1000 })).toMatchObject({ tokens: 1000, since: 155 });
  });

  it('[Q387] is not known where its prompts are twice as late as they should be', () => {
    const phases = begun();
    phases.sent(prompt(102, { requests: 1 }), PRIOR_STEP_TIME);
    expect(stepAt(phases, 170, { pending: 1000 })).toMatchObject({ restMs: 0, tokens: 1000 });
    expect(stepAt(phases, 250, { pending: 1000 })).toMatchObject({ tokens: 0, steps: 0.5 });
  });

  it('[Q387] is not known where prompts wait for slots, or are of others', () => {
    const phases = begun();
    phases.sent(prompt(102, { requests: 1 }), PRIOR_STEP_TIME);
    expect(stepAt(phases, 110, { pending: 1000, runningMax: 1 }).tokens).toBe(0);
    expect(stepAt(begun(), 104, { pending: 5000 }).tokens).toBe(0);
  });

  it('[Q387] has no prompt any more that was given up', () => {
    const phases = begun();
    const second = prompt(102, { requests: 1 });
    phases.sent(second, PRIOR_STEP_TIME);
    phases.done(second, 104, 'aborted');
    expect(stepAt(phases, 110, { pending: 1000 }).tokens).toBe(0);
  });
});
