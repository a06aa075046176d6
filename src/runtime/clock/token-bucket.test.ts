import { expect, test } from 'vitest';
import { SimulatedClock } from './simulated-clock.ts';
import { TokenBucket } from './token-bucket.ts';

function setUp(rate = { perSecond: 100, atOnce: 10 }) {
  const clock = new SimulatedClock();
  const bucket = new TokenBucket(clock, rate);
  const takeAll = (): number => {
    let taken = 0;
    while (bucket.take()) taken += 1;
    return taken;
  };
  return { bucket, takeAll, pass: (ms: number) => clock.advanceTo(clock.now() + ms) };
}

test('[T24] a bucket begins full, and fills with time up to what may be taken at once', () => {
  const { takeAll, pass } = setUp();
  expect(takeAll()).toBe(10);
  pass(9);
  expect(takeAll()).toBe(0);
  pass(1);
  expect(takeAll()).toBe(1);
  pass(50);
  expect(takeAll()).toBe(5);
  pass(60_000);
  expect(takeAll()).toBe(10);
});

test('[T24] an amount is taken whole or not at all', () => {
  const { bucket, takeAll, pass } = setUp();
  expect(bucket.take(11)).toBe(false);
  expect(bucket.take(7)).toBe(true);
  expect(bucket.take(4)).toBe(false);
  pass(10);
  expect(bucket.take(4)).toBe(true);
  expect(takeAll()).toBe(0);
});

test('[T24] a bucket can be filled at once, and a new rate counts from the last take on', () => {
  const { bucket, takeAll, pass } = setUp();
  expect(takeAll()).toBe(10);
  bucket.refill();
  expect(takeAll()).toBe(10);
  pass(100);
  bucket.setRate({ perSecond: 200, atOnce: 30 });
  expect(takeAll()).toBe(20);
  bucket.setRate({ perSecond: 200, atOnce: 2 });
  pass(1000);
  expect(takeAll()).toBe(2);
});
