import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRouted } from '../../../test/makers.ts';
import type { Routed } from '../../framework/observer.ts';
import { DEFAULT_EJECTION } from './ejection-plan.ts';
import { EndpointHealth } from './endpoint-health.ts';

const endpoint = makeEndpoint('a');
const plan = { ...DEFAULT_EJECTION, backoffMs: 1000, trials: 3 };

function ejectedAt0(): EndpointHealth {
  const health = new EndpointHealth(endpoint);
  health.eject('consecutive-failures', 0, plan);
  return health;
}

describe('an ejected endpoint', () => {
  it('is offered the next trial as soon as one has passed, and not after an offer’s pause', () => {
    const health = ejectedAt0();
    const first = makeRouted(endpoint, { at: 1010 });
    health.trialOffered(1010);
    expect(health.isTrialDue(1015)).toBe(false);
    health.tryWith(first, 1010);
    expect(health.trialPassed(first, 1020, plan)).toBe('ejected');
    expect(health.isTrialDue(1020)).toBe(true);
  });

  it('has no trials once it answers again, and counts late first tokens from then on', () => {
    const health = ejectedAt0();
    health.tryWith(makeRouted(endpoint, { at: 1010 }), 1010);
    health.wake(1500);
    expect(health.ejected).toBeUndefined();
    expect(health.trials.size).toBe(0);
    expect(health.progressAt).toBe(1500);
  });
});

it('owes the first token of a request that was sent in the same moment as one that it has answered', () => {
  const health = new EndpointHealth(endpoint);
  const [before, answered, alike, after] = [1000, 1010, 1010, 1020].map((at) =>
    makeRouted(endpoint, { at }),
  ) as [Routed, Routed, Routed, Routed];
  for (const routed of [before, alike, after]) health.awaiting.set(routed, 30);
  expect(health.oldestOwed?.[0]).toBe(before);
  health.progressed(answered, 1050);
  expect(health.oldestOwed?.[0]).toBe(alike);
  health.progressed(after, 1060);
  expect(health.oldestOwed?.[0]).toBe(after);
  health.awaiting.delete(after);
  expect(health.oldestOwed).toBeUndefined();
});

it('counts failures anew after an ejection, so that the next one does not eject it again', () => {
  const health = ejectedAt0();
  health.consecutiveFailures = plan.consecutiveFailures;
  health.comeBack(1500);
  expect(health.ejected).toBeUndefined();
  expect(health.consecutiveFailures).toBe(0);
});
