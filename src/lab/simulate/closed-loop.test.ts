import { describe, expect, it } from 'vitest';
import { PRESETS } from '../../../stub-server/presets/presets.ts';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { WholeSimulation } from '../run-summary/run-result.ts';
import type { TraceRequest } from '../traces/trace.ts';
import { inMemory, jittered, speedUp, type Workload } from '../traces/workload.ts';
import { uniformPool } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const SERVER = {
  labels: {},
  latency: PRESETS.study.latency,
  kvTokens: 200_000,
  sequencesMax: 4,
  batchedTokensMax: 8192,
  admissionMs: 0,
  jitter: 0,
};

const at = (atMs: number, more: Partial<TraceRequest> = {}): TraceRequest => ({
  atMs,
  model: 'm',
  promptTokens: 1000,
  outputTokens: 50,
  blockIds: [],
  ...more,
});
const run = (workload: Workload, servers = 1): WholeSimulation =>
  simulate({
    workload,
    pool: uniformPool(servers, SERVER),
    config: 'default',
    createPicker,
    seed: 1,
  });
const workloadOf = (requests: readonly TraceRequest[]): Workload => ({
  blockTokens: 64,
  requests,
  closedLoop: true,
});

/** Sessions of several turns that come faster than answers do. */
function hasty(seed: number): readonly TraceRequest[] {
  const random = seededRandom(seed);
  return Array.from({ length: 60 }, (_, index) =>
    at(index * 20, { session: `s${Math.floor(12 * random.next())}` }),
  );
}

describe('a closed loop', () => {
  it('sends a turn when the answer before it has ended, at its own time if that is later', () => {
    const requests = [
      at(0, { session: 'a' }),
      at(10, { session: 'a' }),
      at(60_000, { session: 'a' }),
    ];
    const { requests: results } = run(workloadOf(requests));
    const [first, second, third] = results;
    expect(second?.request.atMs).toBeCloseTo(first?.e2eMs ?? 0, 6);
    expect(second?.request.atMs).toBeGreaterThan(300);
    expect(third?.request.atMs).toBeCloseTo(60_000, 6);
    // Measured from when it was sent: it is served as the first was.
    expect(second?.ttftMs).toBeCloseTo(first?.ttftMs ?? 0, 6);
  });

  it('lets the pause that the trace has pass after the answer, at a speed as much shorter', () => {
    const requests = [at(0, { session: 'a' }), at(10, { session: 'a', thinkMs: 5000 })];
    for (const speed of [1, 4]) {
      const [first, second] = run(inMemory(speedUp(workloadOf(requests), speed))).requests;
      expect(second?.request.atMs).toBeCloseTo((first?.e2eMs ?? 0) + 5000 / speed, 6);
    }
  });

  it('never has two requests of a session at once, and serves all of them', () => {
    for (const seed of [1, 2, 3]) {
      const { requests } = run(workloadOf(hasty(seed)), 2);
      expect(
        requests.filter(({ completed }) => completed),
        `seed ${seed}`,
      ).toHaveLength(60);
      const ends = new Map<string, number>();
      for (const { request, e2eMs } of requests) {
        const before = ends.get(request.session ?? '') ?? 0;
        expect(request.atMs, `seed ${seed}`).toBeGreaterThanOrEqual(before - 1e-6);
        ends.set(request.session ?? '', request.atMs + e2eMs);
      }
    }
  });

  it('goes on after a turn that failed', () => {
    const tooLong = at(0, { session: 'a', promptTokens: 9_000_000 });
    const { requests } = run(workloadOf([tooLong, at(10, { session: 'a' })]));
    expect(requests.map(({ completed }) => completed)).toEqual([false, true]);
  });

  it('is not what happens unless it is asked for', () => {
    const { requests } = run({ blockTokens: 64, requests: hasty(1) });
    expect(requests.map(({ request }) => request.atMs)).toEqual(hasty(1).map(({ atMs }) => atMs));
  });
});

it('jitter moves a conversation as a whole', () => {
  const { requests } = jittered(workloadOf(hasty(1)), seededRandom(7), 10_000);
  const moves = new Map<string, Set<number>>();
  const original = new Map<string, number[]>();
  for (const { session = '', atMs } of hasty(1))
    original.set(session, [...(original.get(session) ?? []), atMs]);
  for (const { session = '', atMs } of requests) {
    const was = original.get(session)?.shift() ?? Number.NaN;
    if (atMs > 0) moves.set(session, (moves.get(session) ?? new Set()).add(Math.round(atMs - was)));
  }
  expect(moves.size).toBeGreaterThan(5);
  expect([...moves.values()].every(({ size }) => size === 1)).toBe(true);
});
