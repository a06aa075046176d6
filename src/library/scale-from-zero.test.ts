import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { RoutedRequest } from '../framework/routing.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { createPicker } from './picker-maker.ts';

const FROM_ZERO = readFileSync('deploy/examples/scale-from-zero.yaml', 'utf8');
const ENDPOINTS = 4;
const PREFILL_MS = 0.04;
const ANSWER_MS = 1000;
const SEED = 5;

/** Lets what promises have to do be done. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

it(`[Q117] requests wait for the first endpoint, and then go to all in equal parts, seed ${SEED}`, async () => {
  const clock = new SimulatedClock();
  const random = seededRandom(SEED);
  const picker = createPicker({ seed: SEED, clock, config: FROM_ZERO });
  const tokens = new Map<string, number>();
  const freeAt = new Map<string, number>();
  /** An engine that computes one prompt after another. */
  const serve = (routed: RoutedRequest): void => {
    const { endpoint, request } = routed;
    tokens.set(endpoint.id, (tokens.get(endpoint.id) ?? 0) + request.promptTokens);
    const start = Math.max(clock.now(), freeAt.get(endpoint.id) ?? 0);
    const end = start + PREFILL_MS * request.promptTokens;
    freeAt.set(endpoint.id, end);
    clock.setTimer(end - clock.now(), () => routed.firstToken());
    clock.setTimer(end - clock.now() + ANSWER_MS, () => routed.done('completed'));
  };
  const sent = Array.from({ length: 400 }, () =>
    picker
      .enqueue({ model: 'm', promptTokens: 100 + Math.floor(2000 * random.next()) })
      .then(serve),
  );
  for (let at = 0; at <= 120_000; at += 20_000) {
    clock.advanceTo(at);
    await settle();
  }
  expect(tokens.size).toBe(0);
  for (let n = 0; n < ENDPOINTS; n++) picker.addEndpoint({ id: `e${n}` });
  const end = clock.now() + 30_000;
  for (; clock.now() < end; clock.advanceTo(clock.now() + 2)) await settle();
  await Promise.all(sent);
  const counts = [...tokens.values()];
  const mean = counts.reduce((sum, each) => sum + each, 0) / ENDPOINTS;
  expect(Math.max(...counts) / mean).toBeLessThan(1.2);
  picker.stop();
});
