import { expect, it } from 'vitest';
import { makeTrace } from '../../../test/make-trace.ts';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { curvesOf } from '../run-summary/curves.ts';
import { hitLadder } from '../run-summary/hit-ladder.ts';
import { ResultTable } from '../run-summary/result-table.ts';
import { summarize, throughputOf } from '../run-summary/summarize.ts';
import { RequestTable } from '../traces/request-table.ts';
import type { TraceRequest, TraceRequests } from '../traces/trace.ts';
import { jittered, speedUp, type WorkloadContent } from '../traces/workload.ts';
import { presetServer, uniformPool } from './pool-spec.ts';
import { simulate, simulateIntoTable } from './simulate.ts';

const OBJECTIVE = { ttftMs: 2000, tpotMs: 100, share: 0.9 };
const SPREAD_MS = 5000;
const SPEED = 3;

const SERVER = { ...presetServer('llama-3.1-8b-h100'), labels: {}, jitter: 0.05 };
/** Some prompts are longer than a server takes. */
const POOL = {
  ...uniformPool(2, { ...SERVER, kvTokens: 4096 }),
  faults: [{ kind: 'crash', server: 's0', atMs: 3000, forMs: 4000 }],
} as const;

const optionsOf = (workload: WorkloadContent, seed: number) => ({
  workload,
  pool: POOL,
  config: 'default',
  createPicker,
  seed,
});

/** The requests of a random trace, as a table that makes each when it is asked for. */
function tableOf(requests: TraceRequests): RequestTable {
  const table = RequestTable.of(requests);
  table.complete();
  return table;
}

it('[G264] figures and curves of a table of requests and results are those of objects, bit for bit', () => {
  for (const seed of [1, 2, 3]) {
    const { blockTokens, requests } = makeTrace(seededRandom(seed));
    const objects = { blockTokens, requests };
    const table = { blockTokens, requests: tableOf(requests) };
    const drawn = (workload: WorkloadContent): WorkloadContent =>
      speedUp(jittered(workload, seededRandom(seed), SPREAD_MS), SPEED);
    const whole = simulate(optionsOf(drawn(objects), seed));
    const results = new ResultTable(requests.length);
    const columns = simulateIntoTable({ ...optionsOf(drawn(table), seed), results });
    const [one, other] = [whole, columns].map((result) => {
      const curves = curvesOf(result, POOL);
      const ladder = hitLadder(
        result === whole ? drawn(objects) : drawn(table),
        POOL,
        curves.binMs,
      );
      const figures = [summarize(result, OBJECTIVE), throughputOf(result, OBJECTIVE)];
      return JSON.stringify([figures, curves, ladder, result.durationMs, result.preemptions]);
    });
    expect(other).toBe(one);
    const sizesOf = ({ atMs, promptTokens, outputTokens }: TraceRequest) => ({
      atMs,
      promptTokens,
      outputTokens,
    });
    expect([...columns.requests]).toEqual(
      whole.requests.map((each) => ({ ...each, request: sizesOf(each.request) })),
    );
    expect(columns.requests.at(-1)).toEqual([...columns.requests].at(-1));
    expect(columns.requests.at(requests.length)).toBeUndefined();
  }
});

it('[G264] a draw moves each request within its bounds, and keeps the order of arrival', () => {
  const { blockTokens, requests } = makeTrace(seededRandom(4));
  const drawn = jittered({ blockTokens, requests: tableOf(requests) }, seededRandom(1), SPREAD_MS);
  const moved = [...drawn.requests];
  expect(moved).toHaveLength(requests.length);
  expect(drawn.requests.at(-1)).toEqual(moved.at(-1));
  const times = moved.map(({ atMs }) => atMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  const withoutTime = ({ atMs: _atMs, ...rest }: TraceRequest): string => JSON.stringify(rest);
  expect(moved.map(withoutTime).sort()).toEqual(requests.map(withoutTime).sort());
  for (const request of requests) {
    const near = moved.some(
      (each) =>
        withoutTime(each) === withoutTime(request) &&
        Math.abs(each.atMs - request.atMs) <= SPREAD_MS,
    );
    expect(near).toBe(true);
  }
});
