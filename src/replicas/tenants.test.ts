import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { type SharedPicker, startPicker } from '../../test/replicas/pickers.ts';
import type { RoutedRequest } from '../framework/routing.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';

const TENANTS = ['everywhere', 'here', 'there'] as const;
const [EACH, COUNTED] = [40, 60];
const PROMPT_TOKENS = 4000;
const [FIRST_TOKEN_MS, DONE_MS] = [50, 60];

/**
 * One endpoint and two pickers. One tenant sends to both, each of the others to one. Returns how
 * many of the first requests that are placed belong to each tenant.
 */
function placedOf(shares: boolean): Readonly<Record<string, number>> {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const apart = new SimulatedNetwork({ clock, delayMs: 1 });
  const options = { clock, endpoints: 1 };
  const here = startPicker('p0', { ...options, openLink: network.open });
  const there = startPicker('p1', { ...options, openLink: (shares ? network : apart).open });
  clock.advanceTo(100);
  const placed: string[] = [];
  const serve = (routed: RoutedRequest): void => {
    placed.push(routed.request.fairnessId);
    clock.setTimer(FIRST_TOKEN_MS, () => routed.firstToken());
    clock.setTimer(DONE_MS, () => routed.done('completed'));
  };
  const send = ({ picker }: SharedPicker, fairnessId: string, number: number): void => {
    const id = `${fairnessId}-${number}`;
    const request = makeRequest({ id, fairnessId, promptTokens: PROMPT_TOKENS });
    const refused = (): void => undefined;
    const routed = picker.enqueue?.(
      request,
      { firstTokenVisible: true },
      { placed: serve, refused },
    );
    if (routed !== undefined) serve(routed);
  };
  for (let number = 0; number < EACH; number++) {
    send(number % 2 === 0 ? here : there, 'everywhere', number);
    send(here, 'here', number);
    send(there, 'there', number);
  }
  while (placed.length < COUNTED) clock.advanceTo(clock.now() + 5);
  const first = placed.slice(0, COUNTED);
  return Object.fromEntries(
    TENANTS.map((tenant) => [tenant, first.filter((each) => each === tenant).length]),
  );
}

describe('tenants of two pickers', () => {
  it('[O172] get equal shares of an endpoint, whichever of the pickers they send to', () => {
    for (const placed of Object.values(placedOf(true))) {
      expect(Math.abs(placed - COUNTED / 3)).toBeLessThanOrEqual(COUNTED / 20);
    }
  });

  it('[O172] do not where the pickers do not share: a tenant that sends to both gets twice as much', () => {
    const { everywhere, here, there } = placedOf(false);
    expect({ everywhere, here, there }).toEqual({ everywhere: 30, here: 15, there: 15 });
  });
});
