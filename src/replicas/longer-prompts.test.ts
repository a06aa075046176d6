import { expect, it } from 'vitest';
import {
  blocksOf,
  requestOf,
  type SharedPicker,
  startPicker,
} from '../../test/replicas/pickers.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { RoutedRequest } from '../framework/routing.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';

type Add = (routed: RoutedRequest, longer: InferenceRequest) => void;

it.each<[string, Add]>([
  ['a body that is read later', (routed, longer) => routed.bodyRead(longer)],
  ['an answer', (routed, { prompt }) => routed.answered(prompt)],
])('[O141] tells the others what %s adds to a prompt, though nothing follows it', (_, add) => {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const [a, b] = ['a', 'b'].map((id) => startPicker(id, { clock, openLink: network.open })) as [
    SharedPicker,
    SharedPicker,
  ];
  const pass = (): void => clock.advanceTo(clock.now() + 100);
  pass();
  for (let n = 0; n < 6; n++) {
    const first = a.route(blocksOf(1, 1000 * n));
    pass();
    add(first, requestOf(`longer-${n}`, blocksOf(40, 1000 * n)));
    pass();
    const second = b.route(blocksOf(40, 1000 * n));
    expect(second.endpoint.id).toBe(first.endpoint.id);
    for (const each of [first, second]) each.done('completed');
    pass();
  }
});
