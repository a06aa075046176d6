import { describe, expect, it } from 'vitest';
import { sendToTwoPickers } from '../../test/replicas/tenants-at-pickers.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';

const MINUTE_MS = 60_000;

/** The share of each tenant: of the one that sends to both pickers first. */
function sharesOf(fairness: string, isShared: boolean): readonly number[] {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const other = isShared ? network : new SimulatedNetwork({ clock, delayMs: 1 });
  const openLinks = [network.open, other.open];
  const tenants = sendToTwoPickers(fairness, { clock, openLinks });
  for (let at = 0; at <= MINUTE_MS; at += 5) clock.advanceTo(at);
  const placed = tenants.placed();
  tenants.stop();
  const sum = placed.reduce((total, each) => total + each, 0);
  expect(sum).toBeGreaterThan(1000);
  return placed.map((each) => each / sum);
}

describe.each([
  'round-robin-fairness-policy',
  'vtc-fairness-policy',
  'weighted-fair-queueing-policy',
  'program-aware-fairness',
])('%s at two pickers', (fairness) => {
  it('[O177] gives tenants equal shares, whichever of the pickers they send to', () => {
    for (const share of sharesOf(fairness, true)) expect(share).toBeCloseTo(1 / 3, 1);
  });

  it('[O177] gives twice as much to a tenant that sends to both, where the pickers do not share', () => {
    const [everywhere = 0, here = 0, there = 0] = sharesOf(fairness, false);
    expect(everywhere).toBeCloseTo(1 / 2, 1);
    expect(here).toBeCloseTo(1 / 4, 1);
    expect(there).toBeCloseTo(1 / 4, 1);
  });
});
