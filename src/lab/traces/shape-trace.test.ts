import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeTrace } from '../../../test/make-trace.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { withSessions } from './find-sessions.ts';
import { mergeTraces } from './merge-traces.ts';
import { readTrace } from './reading/read-trace.ts';
import { loopTrace, shapeTrace, thinTrace } from './shape-trace.ts';
import type { Trace, TraceRequest } from './trace.ts';

const at = (atMs: number, more: Partial<TraceRequest> = {}): TraceRequest => ({
  atMs,
  model: 'm',
  promptTokens: 1000,
  outputTokens: 5,
  blockIds: [],
  ...more,
});
const traceOf = (requests: readonly TraceRequest[], blockTokens = 64): Trace => ({
  blockTokens,
  requests,
  repaired: 1,
  notes: ['a note'],
});
const times = ({ requests }: Trace): readonly number[] => requests.map(({ atMs }) => atMs);
const MOONCAKE = join(
  import.meta.dirname,
  '../../../bench/traces/mooncake-conversation-5min.jsonl',
);

describe('merging', () => {
  const one = traceOf([at(0, { blockIds: [1, 2], session: 's' }), at(100)]);
  const other = traceOf([at(0, { blockIds: [1, 2], session: 's' }), at(50)]);

  it('puts requests among one another by time, the others so much later or earlier', () => {
    expect(times(mergeTraces([one, other], 0))).toEqual([0, 0, 50, 100]);
    expect(times(mergeTraces([one, other], 70))).toEqual([0, 70, 100, 120]);
    expect(times(mergeTraces([one, other], -20))).toEqual([0, 20, 50, 120]);
    expect(mergeTraces([one, other], 0)).toMatchObject({
      repaired: 2,
      notes: ['a note', 'a note'],
    });
  });

  it('takes prompts and sessions of different traces for different ones', () => {
    const [first, second] = mergeTraces([one, other], 0).requests;
    expect(second?.session).not.toBe(first?.session);
    expect(first?.blockIds.filter((id) => second?.blockIds.includes(id))).toEqual([]);
  });

  it('has the larger blocks where they differ, and refuses sizes that do not fit', () => {
    const ids = Array.from({ length: 15 }, (_, index) => index);
    const large = traceOf([at(0, { promptTokens: 1500, blockIds: [7, 8] })], 512);
    const { requests, blockTokens } = mergeTraces(
      [traceOf([at(0, { blockIds: ids }), at(1, { blockIds: ids })]), large],
      0,
    );
    expect(blockTokens).toBe(512);
    expect(requests.map(({ blockIds }) => blockIds)).toEqual([[0], ['1:7', '1:8'], [0]]);
    const odd = traceOf([at(0, { blockIds: [1] })], 48);
    expect(() => mergeTraces([odd, large], 0)).toThrow(/48 tokens .* do not make up those of 512/);
  });
});

describe('looping', () => {
  it('begins each time as long after the last request as requests are apart, with conversations of its own', () => {
    const looped = loopTrace(traceOf([at(0, { session: 's' }), at(60), at(100)]), 3);
    expect(times(looped)).toEqual([0, 60, 100, 150, 210, 250, 300, 360, 400]);
    expect(new Set(looped.requests.map(({ session }) => session)).size).toBe(4);
  });

  it('refuses what no memory holds', () => {
    expect(() => loopTrace(traceOf([at(0), at(1)]), 6_000_000)).toThrow(/more than 10000000/);
  });
});

describe('thinning', () => {
  it('keeps about that share of conversations, each as a whole', () => {
    const trace = readTrace(MOONCAKE, { lenient: false });
    for (const seed of [1, 2, 3]) {
      const { requests } = thinTrace(trace, 0.25, seededRandom(seed));
      expect(Math.abs(requests.length / trace.requests.length - 0.25), `seed ${seed}`).toBeLessThan(
        0.06,
      );
      const kept = new Set(requests);
      const sessions = withSessions(trace).requests.map(({ session }) => session);
      const keptSessions = new Set(
        sessions.filter((_, index) => kept.has(trace.requests[index] as TraceRequest)),
      );
      const missing = trace.requests.filter(
        (each, index) => keptSessions.has(sessions[index]) && !kept.has(each),
      );
      expect(missing, `seed ${seed}`).toEqual([]);
    }
  });

  it('refuses to leave nothing', () => {
    expect(() => thinTrace(traceOf([at(0)]), 1e-9, seededRandom(1))).toThrow(/leaves no request/);
  });
});

it('[O381] keeps only the first requests of what the other changes make', () => {
  const shape = { merge: [], shiftMs: 500, loop: 2, thin: 1, requests: 3 };
  const random = seededRandom(1);
  const shaped = shapeTrace(traceOf([at(0), at(10)]), { merged: [], shape, random });
  expect(times(shaped)).toEqual([500, 510, 520]);
});

it('shifts the trace itself where nothing is merged', () => {
  const shape = { merge: [], shiftMs: 500, loop: 2, thin: 1 };
  const shaped = shapeTrace(traceOf([at(0), at(10)]), {
    merged: [],
    shape,
    random: seededRandom(1),
  });
  expect(times(shaped)).toEqual([500, 510, 520, 530]);
});

describe('conversations', () => {
  it('are those the trace names, and else prompts that hold the whole of another and more', () => {
    const requests = [
      at(0, { promptTokens: 130, blockIds: [1, 2] }),
      at(1, { promptTokens: 130, blockIds: [1, 3] }),
      at(2, { promptTokens: 300, blockIds: [1, 2, 4, 5] }),
      at(3, { promptTokens: 300, blockIds: [1, 2, 4, 5] }),
      at(4, { promptTokens: 400, blockIds: [1, 2, 4, 5, 6], session: 'named' }),
      at(5, { promptTokens: 400, blockIds: [1, 3, 9] }),
      at(6, { promptTokens: 70, blockIds: [1] }),
      at(7, { promptTokens: 90, blockIds: [1] }),
    ];
    const sessions = withSessions(traceOf(requests)).requests.map(({ session }) => session);
    expect(sessions).toEqual(['~0', '~1', '~0', '~3', 'named', '~1', '~6', '~7']);
  });

  it('are found in a real trace, where nearly all later turns hold the answer before them', () => {
    const { requests } = withSessions(readTrace(MOONCAKE, { lenient: false }));
    const last = new Map<string | undefined, TraceRequest>();
    const turns = requests.flatMap((request) => {
      const before = last.get(request.session);
      last.set(request.session, request);
      return before === undefined ? [] : [{ before, request }];
    });
    const whole = turns.filter(
      ({ before, request }) => request.promptTokens >= before.promptTokens + before.outputTokens,
    );
    expect(turns.length).toBeGreaterThan(100);
    expect(whole.length / turns.length).toBeGreaterThan(0.85);
  });

  it('never stand in another order than the trace', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const trace = makeTrace(seededRandom(seed));
      const { requests } = withSessions(trace);
      expect(
        requests.map(({ session: _session, ...rest }) => rest),
        `seed ${seed}`,
      ).toEqual(trace.requests.map(({ session: _session, ...rest }) => rest));
      expect(requests.every(({ session }) => session !== undefined)).toBe(true);
    }
  });
});
