import { describe, expect, it } from 'vitest';
import { makePool, makeRequest } from '../../../test/makers.ts';
import { headroomBed } from '../../../test/support/headroom-bed.ts';
import type { RequestMix } from '../../cost-model/capacity.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { StageHeadroom } from './headroom-report.ts';
import { MeasuredCapacity, type SecondOfStage } from './measured-capacity.ts';
import type { MixedRequest } from './stage-mix.ts';

const CHAT = { promptTokens: 400, uncachedTokens: 400, outputTokens: 150, isInTime: true };
const LONG = { ...CHAT, promptTokens: 6000, uncachedTokens: 6000, outputTokens: 50 };
const BUSY: SecondOfStage = {
  at: 0,
  isSaturated: true,
  answering: makePool(Array.from({ length: 4 }, () => ({}))),
  running: 12,
  counted: 1,
};

interface Bed {
  readonly capacity: MeasuredCapacity;
  /** Chats per second of each server, as the model has them now. A long prompt is three chats. */
  readonly model: { chatsPerSecond: number };
}

interface Served {
  readonly seconds: number;
  readonly perSecond: number;
  readonly request?: MixedRequest;
  readonly isAnswered?: boolean;
}

describe('what a stage has shown of its capacity', () => {
  const modelledBy = ({ chatsPerSecond }: Bed['model'], servers: number, mix: RequestMix): number =>
    (servers * chatsPerSecond) / (1 + (2 * (mix.promptTokens - 400)) / 5600);
  const bed = (): Bed => {
    const model = { chatsPerSecond: 2.5 };
    const capacity = new MeasuredCapacity((servers, mix) => modelledBy(model, servers.length, mix));
    return { capacity, model };
  };
  const pass = (
    { capacity }: Bed,
    { seconds, perSecond, request = CHAT, isAnswered = true }: Served,
    fields: Partial<SecondOfStage> = {},
  ): number => {
    for (let second = 0; second < seconds; second++) {
      for (let n = 0; n < perSecond; n++) {
        capacity.sent();
        capacity.ended(request, isAnswered);
      }
      capacity.look({ ...BUSY, ...fields });
    }
    return capacity.shareAt(fields.at ?? 0);
  };
  /** The capacity of so many servers in requests of such a size. */
  const perSecondOf = ({ capacity, model }: Bed, servers: number, of: MixedRequest): number => {
    const mix = { ...of, uncachedSquares: of.uncachedTokens ** 2, inTime: { ...of, share: 1 } };
    return capacity.shareAt(0) * modelledBy(model, servers, mix);
  };

  it('[O442] is what ends in a second while it is saturated, over what the model says', () => {
    const slow = bed();
    // The first second has what ended before, too, and the next six are the first round.
    expect(pass(slow, { seconds: 1 + 6 + 14, perSecond: 2 })).toBe(1);
    expect(pass(slow, { seconds: 1, perSecond: 2 })).toBe(0.2);
    expect(pass(slow, { seconds: 200, perSecond: 3 })).toBeCloseTo(0.3, 2);
  });

  it('[O442] is not taken before twice as many requests have ended as run at a time', () => {
    expect(pass(bed(), { seconds: 90, perSecond: 1 }, { running: 30 })).toBe(1);
    expect(pass(bed(), { seconds: 91, perSecond: 1 }, { running: 30 })).toBe(0.1);
  });

  it('[O442] counts the requests of pickers that do not share by their part in the samples', () => {
    const half = { counted: 0.5 };
    expect(pass(bed(), { seconds: 22, perSecond: 1 }, half)).toBeCloseTo(0.2, 9);
  });

  it('[O442] rises where more is served without saturation, and is half forgotten after an hour', () => {
    const slow = bed();
    pass(slow, { seconds: 60, perSecond: 1 });
    expect(slow.capacity.shareAt(0)).toBeCloseTo(0.1, 1);
    const before = slow.capacity.shareAt(0);
    expect(slow.capacity.shareAt(3_600_000)).toBeCloseTo(Math.sqrt(before), 9);
    const idle = { isSaturated: false };
    expect(pass(slow, { seconds: 40, perSecond: 0 }, idle)).toBe(before);
    expect(pass(bed(), { seconds: 40, perSecond: 1 }, idle)).toBe(1);
    expect(pass(slow, { seconds: 300, perSecond: 5 }, idle)).toBeGreaterThan(0.45);
  });

  it('[Q397] stays what it was in requests per second when the model becomes another', () => {
    const each = bed();
    pass(each, { seconds: 60, perSecond: 9 });
    expect(perSecondOf(each, 4, CHAT)).toBeCloseTo(9, 9);
    for (const chatsPerSecond of [1.2, 5]) {
      each.model.chatsPerSecond = chatsPerSecond;
      expect(perSecondOf(each, 4, CHAT)).toBeCloseTo(9, 9);
    }
  });

  it('[Q397] is as many long prompts or chats, and of as many servers, as the model compares them', () => {
    const each = bed();
    pass(each, { seconds: 90, perSecond: 3, request: LONG });
    each.model.chatsPerSecond = 1;
    expect(perSecondOf(each, 4, LONG)).toBeCloseTo(3, 9);
    expect(perSecondOf(each, 4, CHAT)).toBeCloseTo(9, 9);
    expect(perSecondOf(each, 12, CHAT)).toBeCloseTo(27, 9);
  });

  it('[Q397] counts nothing that ended before the pool grew', () => {
    const each = bed();
    pass(each, { seconds: 60, perSecond: 9 });
    const answering = makePool(Array.from({ length: 12 }, () => ({})));
    pass(each, { seconds: 2, perSecond: 9 }, { answering });
    expect(perSecondOf(each, 12, CHAT)).toBeCloseTo(27, 9);
    pass(each, { seconds: 60, perSecond: 26 }, { answering });
    expect(perSecondOf(each, 12, CHAT)).toBeCloseTo(26, 9);
  });

  it('[Q398] is more than the model says where answers are whole, and half of that is forgotten after two minutes', () => {
    const fast = bed();
    expect(pass(fast, { seconds: 60, perSecond: 30 })).toBeCloseTo(3, 9);
    expect(fast.capacity.shareAt(120_000)).toBeCloseTo(Math.sqrt(3), 9);
    // Requests that were refused or given up are no work.
    expect(pass(bed(), { seconds: 60, perSecond: 30, isAnswered: false })).toBe(1);
  });

  it('[Q398] is no less than what is served without saturation, and no limit when the model rises', () => {
    const calm = { isSaturated: false };
    const each = bed();
    expect(pass(each, { seconds: 60, perSecond: 12 }, calm)).toBeCloseTo(1.2, 9);
    each.model.chatsPerSecond = 5;
    expect(each.capacity.shareAt(0)).toBe(1);
    // What was sent before is worked off: the servers did not do all of that now.
    const drained = bed();
    for (let second = 0; second < 60; second++) {
      for (let n = 0; n < 30; n++) drained.capacity.ended(CHAT, true);
      drained.capacity.look({ ...BUSY, ...calm });
    }
    expect(drained.capacity.shareAt(0)).toBe(1);
  });
});

describe('the headroom of servers that run fewer requests at a time than the model knows', () => {
  const SERVERS = ['a', 'b', 'c'].map((name) => name as EndpointId);
  const SLOTS = 4;
  const SERVICE_S = 10;

  /** Clients that send their next request when the last one is answered. */
  function closedLoop(clients: number, seconds: number): StageHeadroom | undefined {
    const clock = new SimulatedClock();
    const { headroom, picker } = headroomBed(clock);
    for (const [at, id] of SERVERS.entries()) {
      picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
    }
    const watch = headroom.start();
    const queues = new Map<EndpointId, RoutedRequest[]>(SERVERS.map((id) => [id, []]));
    const ends = new Map<RoutedRequest, number>();
    let sent = 0;
    const send = (): void => {
      const routed = picker.route(makeRequest({ id: `r${sent++}`, promptTokens: 4000 }), {
        firstTokenVisible: true,
      });
      queues.get(routed.endpoint.id)?.push(routed);
    };
    for (let n = 0; n < clients; n++) send();
    for (let second = 0; second < seconds; second++) {
      for (const [id, queue] of queues) {
        const done = queue.filter((each) => (ends.get(each) ?? Infinity) <= second);
        for (const each of done) {
          queue.splice(queue.indexOf(each), 1);
          each.done('completed', { promptTokens: 4000, cachedTokens: 0, completionTokens: 250 });
          send();
        }
        for (const each of queue.slice(0, SLOTS)) {
          if (ends.has(each)) continue;
          // Not all at once.
          ends.set(each, second + SERVICE_S + (ends.size % 2));
          each.firstToken();
        }
        const runningRequests = Math.min(SLOTS, queue.length);
        const waitingQueueSize = queue.length - runningRequests;
        const sample = { runningRequests, waitingQueueSize, kvCacheUsage: 0.2 };
        picker.pool.observe(id, { ...sample, sampledAt: clock.now() });
      }
      clock.advanceTo(clock.now() + 1000);
    }
    watch.stop();
    return headroom.report().stages[0];
  }

  it('[O442] wants more of them while they are full, and never fewer', () => {
    const full = closedLoop(60, 250);
    expect(full).toMatchObject({ replicas: 3, secondsToSaturation: 0, limit: 'shown' });
    expect(full?.saturation).toBeGreaterThan(1);
    expect(full?.desiredReplicas).toBeGreaterThan(3);
    expect(full?.neededReplicas).toBeGreaterThan(3);
    const { capacity = 0 } = full?.requestsPerSecond ?? {};
    expect(capacity).toBeGreaterThan(0.9);
    expect(capacity).toBeLessThan(1.3);
  });

  it('[O442] believes the model of them while they are not full', () => {
    expect(closedLoop(6, 150)).toMatchObject({
      secondsToSaturation: undefined,
      desiredReplicas: 1,
    });
  });
});

it('[O443] a pool is saturated by what waits at the picker longer than the objective allows', () => {
  const clock = new SimulatedClock();
  let waiting = 0;
  const { headroom, picker } = headroomBed(clock, { waiting: () => waiting });
  const id = 'a' as EndpointId;
  picker.pool.upsert({ id, address: '10.0.0.1:8000', labels: new Map() });
  picker.route(makeRequest()).done('completed');
  const stage = (): StageHeadroom | undefined => headroom.report().stages[0];
  const { capacity = 0 } = stage()?.requestsPerSecond ?? {};
  expect(stage()?.saturation).toBeLessThan(1);
  // The first token is to come within two seconds.
  waiting = 3 * capacity;
  expect(stage()?.saturation).toBeCloseTo(1.5, 6);
  const watch = headroom.start();
  for (let second = 0; second < 16; second++) {
    const idle = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
    picker.pool.observe(id, { ...idle, sampledAt: clock.now() });
    clock.advanceTo(clock.now() + 1000);
  }
  expect(stage()?.secondsToSaturation).toBe(0);
  watch.stop();
});
