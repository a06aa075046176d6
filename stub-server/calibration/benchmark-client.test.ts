import { expect, test } from 'vitest';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { H100_POINTS } from '../../test/support/measured-h100.ts';
import { BenchmarkClient } from './benchmark-client.ts';
import { lengthQuantiles, spreadLengths } from './length-quantiles.ts';
import type { ServingPoint } from './serving-point.ts';

interface Sent {
  readonly open: number;
  readonly waitedMs: number;
}

/** Sends ten seconds of requests that take `serviceMs` each. */
function send(changes: Partial<ServingPoint>, rps: number, serviceMs: number): readonly Sent[] {
  const clock = new SimulatedClock();
  const sent: Sent[] = [];
  let open = 0;
  const client = new BenchmarkClient(
    { ...(H100_POINTS[0] as ServingPoint), ...changes },
    {
      clock,
      random: seededRandom(3),
      connectMs: 4,
      submit: ({ sentAt, done }) => {
        open += 1;
        sent.push({ open, waitedMs: clock.now() - sentAt });
        clock.setTimer(serviceMs, () => {
          open -= 1;
          done();
        });
      },
    },
  );
  client.start(10 * rps, rps);
  while (clock.step()) continue;
  return sent;
}

test('[B162] a benchmark never has more open requests than its client, and sends all of them', () => {
  const sent = send({ inFlightMax: 20 }, 100, 1000);
  expect(sent).toHaveLength(1000);
  expect(Math.max(...sent.map(({ open }) => open))).toBe(20);
});

test('[B162] at a low rate each request of a process needs a new connection, at a high one hardly any', () => {
  const rare = send({ clientWorkers: 44 }, 1, 100);
  expect(rare.every(({ waitedMs }) => waitedMs === 4)).toBe(true);
  const frequent = send({ clientWorkers: 10 }, 100, 10);
  const connected = frequent.filter(({ waitedMs }) => waitedMs > 0);
  expect(connected.length).toBeLessThan(0.05 * frequent.length);
});

test('[B162] lengths have the mean and the spread of the benchmark', () => {
  const lengths = spreadLengths(lengthQuantiles.parse('0:10 50:40 100:200'), {
    mean: 100,
    number: 1000,
  });
  expect(lengths.reduce((sum, length) => sum + length, 0) / 1000).toBeCloseTo(100);
  // The mean of the quantiles is 72.5, so that all lengths are longer by 100 / 72.5.
  expect((lengths[500] ?? 0) / (lengths[0] ?? 1)).toBeCloseTo(4, 0);
  expect(spreadLengths(undefined, { mean: 7, number: 2 })).toEqual([7, 7]);
});

test.for(['10 20', '0:10', '0:10 50:5 100:20', '0:10 90:20', '0:a 100:b'])(
  '[B162] %s is refused as quantiles',
  (text) => {
    expect(lengthQuantiles.safeParse(text).error?.message).toContain('0:10 50:37 100:256');
  },
);
