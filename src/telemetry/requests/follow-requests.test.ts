import { describe, expect, test } from 'vitest';
import { makeDecision } from '../../../test/makers.ts';
import { RoutingError } from '../../framework/error.ts';
import type { Routed } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Decision } from '../../framework/scheduling.ts';
import { phasesOf } from '../tracing/phases-of.ts';
import { accessLine } from './access-line.ts';
import { RequestFollower } from './follow-requests.ts';
import type { RequestRecord } from './request-record.ts';
import type { RequestTrace } from './trace-context.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const request = {
  id: 'p-1',
  model: 'served',
  rewrite: { requestedModel: 'asked', rule: 'r' },
  promptTokens: 40,
  fairnessId: 'tenant',
  priority: 2,
  bodyBytes: 400,
} as InferenceRequest;
const endpoint = { id: 'ns/pod-0', address: '10.0.0.1:8000' } as Routed['endpoint'];

function setUp(trace: Partial<RequestTrace> | undefined = { sampled: true }) {
  let now = 1000;
  const closed: RequestRecord[] = [];
  const whole = {
    traceId: TRACE_ID,
    spanId: 'b7ad6b7169203331',
    parent: undefined,
    sampled: true,
    traceState: undefined,
    ...trace,
  };
  const follower = new RequestFollower({
    clock: { now: () => now },
    beginTrace: trace && (() => whole),
    onClosed: (record) => void closed.push(record),
  });
  const headers = new Map([['x-request-id', 'client-1']]);
  return {
    follower,
    closed,
    followed: follower.follow({ id: 'p-1', headers }, undefined),
    after: (ms: number) => {
      now += ms;
    },
  };
}

/** A streamed request that waits, is answered, and ends. */
function runThrough({ follower, followed, after }: ReturnType<typeof setUp>): void {
  const routed = { number: 7, request, endpoint, heldMs: 20, cachedTokens: 16 } as Routed;
  after(5);
  followed.bodyRead(request);
  after(21);
  const decision = { profiles: [], decidedBy: 'challenger' } as unknown as Decision;
  const candidates = [endpoint];
  follower.onDecision(makeDecision({ number: 7, request, candidates, decision, durationMs: 1 }));
  follower.onRouted(routed);
  after(100);
  follower.onFirstToken(routed);
  after(300);
  const usage = { promptTokens: 41, completionTokens: 9, cachedTokens: 16 };
  follower.onEnded(routed, 0, 'completed', usage, 1234);
  after(3);
  followed.closed(200);
}

describe('a request that is followed', () => {
  test('[D360] names the endpoint of a request without a body', () => {
    const { follower, followed, closed } = setUp();
    const passing = { ...request, bodyBytes: 0 };
    followed.bodyRead(passing);
    follower.onPassed(passing, endpoint);
    followed.closed(200);
    const line = closed.map((record) => JSON.parse(accessLine(record, 0)));
    expect(line).toMatchObject([{ endpoint: 'ns/pod-0', address: '10.0.0.1:8000', status: 200 }]);
  });

  test('[O82] has a span for each phase, end to end', () => {
    const set = setUp();
    runThrough(set);
    const [record] = set.closed;
    if (record === undefined) throw new Error('it was not closed');
    const spans = phasesOf(record).map(({ name, from, to }) => [name, from - 1000, to - 1000]);
    expect(spans).toEqual([
      ['read_request', 0, 5],
      ['gateway.request_orchestration', 5, 26],
      ['wait_for_endpoint', 5, 25],
      ['wait_for_first_token', 26, 126],
      ['receive_response', 126, 426],
      ['gateway.request', 0, 426],
    ]);
    expect(set.follower.size).toBe(0);
  });

  test('[O90] has one line in the access log', () => {
    const set = setUp();
    runThrough(set);
    const [record] = set.closed;
    if (record === undefined) throw new Error('it was not closed');
    expect(JSON.parse(accessLine(record, 1_700_000_000_000))).toEqual({
      time: '2023-11-14T22:13:20.000Z',
      requestId: 'client-1',
      traceId: TRACE_ID,
      model: 'asked',
      endpoint: 'ns/pod-0',
      address: '10.0.0.1:8000',
      status: 200,
      outcome: 'completed',
      promptTokens: 41,
      cachedTokens: 16,
      outputTokens: 9,
      requestBytes: 400,
      responseBytes: 1234,
      waitedMs: 21,
      ttftMs: 121,
      durationMs: 426,
      priority: 2,
      fairnessId: 'tenant',
      decidedBy: 'challenger',
    });
  });

  test('[O90] that is refused has the status and code of its refusal', () => {
    const { followed, closed, after } = setUp();
    after(2);
    followed.refused(new RoutingError('saturated', 'the pool is full'));
    after(5);
    followed.closed(undefined);
    const [record] = closed;
    if (record === undefined) throw new Error('it was not closed');
    const line: unknown = JSON.parse(accessLine(record, 0));
    expect(line).toMatchObject({ status: 429, outcome: 'saturated', durationMs: 2 });
  });

  test('[O81] keeps the client’s header where its trace is not sampled', () => {
    const parent = { traceId: TRACE_ID, spanId: 'a', sampled: false };
    expect(setUp({ sampled: false, parent }).followed.traceparent).toBeUndefined();
    expect(setUp({ sampled: false }).followed.traceparent).toBe(
      `00-${TRACE_ID}-b7ad6b7169203331-00`,
    );
    expect(setUp().followed.traceparent).toBe(`00-${TRACE_ID}-b7ad6b7169203331-01`);
  });

  test('[O83] keeps no decision where its trace is not sampled', () => {
    const set = setUp({ sampled: false });
    runThrough(set);
    expect(set.closed[0]?.decision).toBeUndefined();
    expect(set.follower.traceIdOf(request)).toBeUndefined();
  });
});
