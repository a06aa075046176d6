import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import { quantile, sorted } from '../../src/lab/run-summary/statistics.ts';
import type { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest, SEED, sampleEndpoints, startCore } from './core.ts';
import type { Outcome } from './live.ts';

const SHADOWS = ['default', 'reference-default', 'sticky', 'dynamo', 'preble', 'random'];
const MORE = ['lmetric', 'power-of-two'];
const ROUNDS = 20;
/** Requests per round: few, so that many rounds run without an interruption by other processes. */
const REQUESTS = 400;
const IN_FLIGHT = 200;
/** Time for the shadows to catch up after a round. */
const PAUSE_MS = 300;

/** Measures one pick with its reservation, with eight shadows and with none. */
export async function measurePath(): Promise<Outcome> {
  const sides = [
    { name: 'no shadows', ...startCore([]), rounds: [] as number[][] },
    { name: '8 shadows', ...startCore([...SHADOWS, ...MORE]), rounds: [] as number[][] },
  ];
  for (let at = -2; at < ROUNDS; at++) {
    for (const { picker, rounds } of at % 2 === 0 ? sides : sides.toReversed()) {
      const measured = await round(picker, at);
      if (at >= 0) rounds.push(measured);
      await sleep(PAUSE_MS);
    }
  }
  const figures = sides.map(({ name, rounds }) => {
    const wall = rounds.flat();
    const quietest = Math.min(...rounds.map((each) => quantile(sorted(each), 0.99)));
    return {
      name,
      picks: wall.length,
      p50Micros: quantile(sorted(wall), 0.5),
      p99Micros: quantile(sorted(wall), 0.99),
      p99QuietestMicros: quietest,
    };
  });
  const fates = sides[1]?.shadows.map((shadow) => shadow.status()) ?? [];
  for (const { shadows, picker } of sides) {
    await Promise.all(shadows.map((shadow) => shadow.stop()));
    picker.stop();
  }
  const lines = figures.map(({ name, picks, ...micros }) =>
    [
      name.padEnd(12),
      String(picks).padStart(9),
      ...Object.values(micros).map((each) => each.toFixed(0).padStart(11)),
    ].join(' '),
  );
  const text = [
    'one pick over 16 endpoints, µs; “quiet” is the p99 of the least disturbed round',
    'picker           picks         p50         p99   quiet p99',
    ...lines,
    `restarts of shadows: ${fates.reduce((sum, { restarts }) => sum + restarts, 0)}`,
    '',
  ].join('\n');
  return { document: { figures }, text };
}

async function round(picker: EndpointPicker, at: number): Promise<number[]> {
  const random = seededRandom(SEED).fork(`round ${at}`);
  const open: RoutedRequest[] = [];
  const wallMicros: number[] = [];
  sampleEndpoints(picker);
  for (let n = 0; n < REQUESTS; n++) {
    const request = makeRequest((at + 2) * REQUESTS + n, random.next());
    await nextTurn();
    const startedAt = performance.now();
    open.push(picker.route(request, { firstTokenVisible: true }));
    wallMicros.push((performance.now() - startedAt) * 1000);
    if (open.length < IN_FLIGHT) continue;
    open.shift()?.done('completed');
  }
  for (const routed of open) routed.done('completed');
  return wallMicros;
}
