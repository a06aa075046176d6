import { expect, test } from 'vitest';
import { type LoopTime, measureBusyShare } from './busy-share.ts';

function setUp() {
  const time = { idle: 0, active: 0 };
  let looks = 0;
  const loopTime = (): LoopTime => {
    looks += 1;
    return { ...time };
  };
  const share = measureBusyShare(loopTime, () => time.idle + time.active);
  const pass = (active: number, idle: number): void => {
    time.active += active;
    time.idle += idle;
  };
  return { share, pass, looks: () => looks };
}

test('[B230] the share of busy time is 0 at first, and half of it is that of the newest quarter of a second', () => {
  const { share, pass } = setUp();
  expect(share()).toBe(0);
  pass(200, 50);
  expect(share()).toBeCloseTo(0.4);
  pass(200, 50);
  expect(share()).toBeCloseTo(0.6);
  for (let n = 0; n < 20; n++) {
    pass(0, 250);
    share();
  }
  expect(share()).toBeCloseTo(0);
});

test('[B230] it is measured four times a second at most', () => {
  const { share, pass, looks } = setUp();
  for (let ms = 0; ms < 1000; ms++) {
    share();
    pass(1, 0);
  }
  expect(looks()).toBe(4);
  expect(share()).toBeGreaterThan(0.8);
});

test('[B230] of the real event loop it is between 0 and 1', async () => {
  const share = measureBusyShare();
  share();
  await new Promise((resolve) => {
    setTimeout(resolve, 260);
  });
  expect(share()).toBeGreaterThan(0);
  expect(share()).toBeLessThanOrEqual(1);
});
