import { expect, it } from 'vitest';
import { DelaySpread } from './delay-spread.ts';

it('[G230] says how much later some messages come than others, whatever the clocks say', () => {
  for (const apartMs of [-86_400_000, 0, 7]) {
    const spread = new DelaySpread();
    expect(spread.spreadMs).toBe(0);
    for (const [at, delayMs] of [
      [0, 3],
      [100, 1],
      [200, 41],
    ] as const)
      spread.add(apartMs + delayMs, at);
    expect(spread.spreadMs).toBe(40);
  }
});

it('[G230] forgets a delay after ten to twenty seconds, and takes no clock that is set for one', () => {
  const spread = new DelaySpread();
  for (let at = 0; at <= 30_000; at += 100) {
    spread.add(at === 5000 ? 60 : 10, at);
    if (at === 14_900) expect(spread.spreadMs).toBe(50);
  }
  expect(spread.spreadMs).toBe(0);
  spread.add(3_600_000, 30_100);
  expect(spread.spreadMs).toBe(1000);
});
