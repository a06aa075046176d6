import { expect, it } from 'vitest';
import { ANSWER_MS, beginMs, restartWaitMs } from './restarts.ts';

const RESTARTS = [0, 1, 2, 3, 20];

it('[T96] a shadow that loads for longer than a minute may begin at a later start', () => {
  expect(RESTARTS.map((times) => beginMs(times) / 60_000)).toEqual([1, 2, 4, 8, 8]);
});

it('[T96] a shadow that has begun and is silent for 30 s is restarted, however often it was', () => {
  expect(ANSWER_MS).toBe(30_000);
});

it('[T96] a shadow is started again after a second, and after a minute at most', () => {
  expect(RESTARTS.map((times) => restartWaitMs(times) / 1000)).toEqual([1, 2, 4, 8, 60]);
});
