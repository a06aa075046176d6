import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { TraceRequest } from '../traces/trace.ts';
import type { AnswerHooks, LostKind } from './answer-exchange.ts';
import {
  OpenLoop,
  type OpenLoopOptions,
  type OpenLoopResult,
  type SentRequest,
} from './open-loop.ts';

function arrivals(...times: readonly number[]): readonly TraceRequest[] {
  return times.map((atMs, index) => ({
    atMs,
    model: `${index}`,
    promptTokens: 1,
    outputTokens: 2,
    blockIds: [],
  }));
}

function turns(requests: readonly TraceRequest[]): readonly TraceRequest[] {
  return requests.map((request) => ({ ...request, session: 'a' }));
}

interface Line {
  readonly sentAt: number[];
  readonly run: (steps?: number) => Promise<OpenLoopResult>;
  readonly loop: OpenLoop;
  readonly clock: SimulatedClock;
}

/** A target that answers each request with two tokens, so long after it was sent. */
function line(
  requests: readonly TraceRequest[],
  answerMs: number,
  options: Partial<OpenLoopOptions> = {},
): Line {
  const clock = new SimulatedClock();
  const sentAt: number[] = [];
  const loop = new OpenLoop({
    clock,
    workload: { blockTokens: 16, requests, closedLoop: true },
    prepare: ({ model, outputTokens }) => ({ model, prompt: Buffer.from('x'), outputTokens }),
    send: ({ model }, hooks) => {
      sentAt[Number(model)] = clock.now();
      return answer(clock, answerMs, hooks);
    },
    concurrencyMax: 100,
    timeoutMs: 10_000,
    ...options,
  });
  const run = (): Promise<OpenLoopResult> => {
    while (clock.step());
    return loop.result;
  };
  return { sentAt, run, loop, clock };
}

function answer(
  clock: SimulatedClock,
  answerMs: number,
  { onTokens, onEnd }: AnswerHooks,
): { cancel(kind: LostKind, message: string): void } {
  const timers = [
    clock.setTimer(answerMs / 2, () => onTokens(1)),
    clock.setTimer(answerMs, () => {
      onTokens(1);
      onEnd({ lost: undefined, counted: undefined, chunks: 2, servedBy: 'a' });
    }),
  ];
  return {
    cancel: (kind, message) => {
      for (const timer of timers) timer.cancel();
      onEnd({ lost: { kind, message }, counted: undefined, chunks: 0, servedBy: undefined });
    },
  };
}

const lostOf = ({ end }: SentRequest): string | undefined =>
  typeof end === 'string' ? end : end.lost?.kind;

describe('OpenLoop', () => {
  it('sends each request when it is due, whatever has become of those before', async () => {
    const { sentAt, run } = line(arrivals(0, 10, 10, 250), 1000);
    const { sent, underWayMax, durationMs, tokenGaps } = await run();
    expect(sentAt).toEqual([0, 10, 10, 250]);
    expect(sent.map(({ ttftMs, e2eMs, lateMs }) => [ttftMs, e2eMs, lateMs])).toEqual(
      sentAt.map(() => [500, 1000, 0]),
    );
    expect([underWayMax, durationMs]).toEqual([4, 1250]);
    expect(tokenGaps.quantile(0.5)).toBeCloseTo(500, -2);
  });

  it('counts a time from when it was due, not from when a busy sender got round to it', async () => {
    const clock = new SimulatedClock();
    const loop = new OpenLoop({
      // Something else has the processor for 40 ms when the second is due.
      clock: {
        now: () => clock.now(),
        wallTime: () => clock.wallTime(),
        setTimer: (delay, callback) => clock.setTimer(delay === 10 ? 50 : delay, callback),
      },
      workload: { blockTokens: 16, requests: arrivals(0, 10) },
      prepare: ({ model, outputTokens }) => ({ model, prompt: Buffer.from('x'), outputTokens }),
      send: (_request, hooks) => answer(clock, 100, hooks),
      concurrencyMax: 100,
      timeoutMs: 10_000,
    });
    while (clock.step());
    const { sent } = await loop.result;
    expect(sent.map(({ ttftMs, lateMs }) => [ttftMs, lateMs])).toEqual([
      [50, 0],
      [90, 40],
    ]);
  });

  it('does not send what is due beyond the limit, and counts it', async () => {
    const { sentAt, run } = line(arrivals(0, 1, 2, 200), 100, { concurrencyMax: 2 });
    const { sent, underWayMax } = await run();
    expect(sent.map(lostOf)).toEqual([undefined, undefined, 'refused', undefined]);
    expect(sentAt[2]).toBeUndefined();
    expect(underWayMax).toBe(2);
  });

  it('gives an answer up so long after it was due', async () => {
    const { sent } = await line(arrivals(0), 5000, { timeoutMs: 700 }).run();
    expect(sent.map((each) => [lostOf(each), each.e2eMs])).toEqual([['time-out', 700]]);
  });

  it('ends with what there is when it is stopped', async () => {
    const { loop, clock } = line(arrivals(0, 100, 5000), 150);
    while (clock.step(200));
    loop.stop();
    const { sent, stopped } = await loop.result;
    expect(stopped).toBe(true);
    expect(sent.map(lostOf)).toEqual([undefined, 'stopped']);
  });

  it('counts the tokens that come before the last request is due', async () => {
    const { arrivals: arrived } = await line(arrivals(0, 100, 250), 200).run();
    expect(arrived).toEqual({ durationMs: 250, tokens: 3 });
  });

  it('cuts answers once each request has its first token, where that is asked for', async () => {
    const { run } = line(arrivals(0, 10, 900), 1000, { cutAfterFirstTokens: true });
    const { sent, durationMs, stopped } = await run();
    expect(sent.map((each) => [lostOf(each), each.ttftMs])).toEqual([
      [undefined, 500],
      [undefined, 500],
      ['stopped', 500],
    ]);
    expect([durationMs, stopped]).toEqual([1400, false]);
  });

  it('lets a turn wait for the answer it goes on from, and counts from then', async () => {
    const { sentAt, run } = line(turns(arrivals(0, 10, 20, 1700)), 500);
    const { sent } = await run();
    expect(sentAt).toEqual([0, 500, 1000, 1700]);
    expect(sent.map(({ ttftMs, lateMs }) => [ttftMs, lateMs])).toEqual(sent.map(() => [250, 0]));
  });

  it('sends nothing more once it is stopped, whatever pauses', async () => {
    const [first, turn] = turns(arrivals(0, 10));
    const requests = [first as TraceRequest, { ...(turn as TraceRequest), thinkMs: 500 }];
    const { loop, clock, sentAt } = line(requests, 100);
    while (clock.step(200));
    loop.stop();
    while (clock.step());
    expect((await loop.result).sent.map(lostOf)).toEqual([undefined]);
    expect(sentAt).toHaveLength(1);
  });

  it('lets those go on that waited for one that was never sent', async () => {
    const [other, ...requests] = arrivals(0, 10, 200);
    const all = [other as TraceRequest, ...turns(requests)];
    const { sent } = await line(all, 100, { concurrencyMax: 1 }).run();
    expect(sent.map(lostOf)).toEqual([undefined, 'refused', undefined]);
  });

  it('takes thousands at one moment', async () => {
    const times = Array.from({ length: 5000 }, () => 7);
    const { sent, underWayMax } = await line(arrivals(...times), 100, {
      concurrencyMax: 5000,
    }).run();
    expect([sent.length, underWayMax]).toEqual([5000, 5000]);
  });
});
