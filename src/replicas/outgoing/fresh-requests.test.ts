import { expect, it } from 'vitest';
import { blocksOf, startPicker } from '../../../test/replicas/pickers.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { MESSAGE_BYTES_MAX } from '../messages/message.ts';

it('[G229] sends long prompts of requests that are placed at once in messages within the bound', () => {
  const clock = new SimulatedClock();
  const lengths: number[] = [];
  const a = startPicker('a', {
    clock,
    openLink: (_id, events) => {
      clock.setTimer(0, () => events.onConnected());
      return {
        send: (message) => lengths.push(message.length) > 0,
        pause: () => undefined,
        resume: () => undefined,
        close: () => Promise.resolve(),
      };
    },
  });
  clock.advanceTo(100);
  const routed = Array.from({ length: 40 }, (_, n) => a.route(blocksOf(8000, 10_000 * n)));
  for (const each of routed) each.done('completed');
  clock.advanceTo(clock.now() + 100);
  expect(Math.max(...lengths)).toBeLessThan(MESSAGE_BYTES_MAX / 2);
  expect(lengths.reduce((sum, each) => sum + each, 0)).toBeGreaterThan(40 * 8 * 8000);
});
