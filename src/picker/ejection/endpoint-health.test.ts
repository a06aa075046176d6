import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRouted } from '../../../test/makers.ts';
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
