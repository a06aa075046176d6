import { describe, expect, it } from 'vitest';
import { addEndpoint, sample, worldOf } from '../../../test/support/waiting-bed.ts';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../config/defaults.ts';
import { loadConfig } from '../../config/load.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';

describe('requests that wait for their endpoint', () => {
  it('[Q1] are those whose endpoint cannot begin them; others are placed in the call they came in', () => {
    const { send, order } = worldOf(2);
    expect([send({ id: 'a' }), send({ id: 'b' }), send({ id: 'c' })]).toEqual([true, true, false]);
    expect(order).toEqual(['a', 'b']);
  });

  it('[Q2] are placed when a first token or an end has made room, not before', () => {
    const { send, order, routed, picker } = worldOf(1);
    for (const id of ['a', 'b', 'c']) send({ id });
    expect([order, picker.waiting.requests]).toEqual([['a'], 2]);
    routed.get('a')?.firstToken();
    expect(order).toEqual(['a', 'b']);
    routed.get('a')?.done('completed');
    expect(order).toEqual(['a', 'b']);
    routed.get('b')?.done('aborted');
    expect([order, picker.waiting.requests]).toEqual([['a', 'b', 'c'], 0]);
  });

  it('[Q2] are placed when an endpoint comes', () => {
    const { send, order, routed, picker, clock } = worldOf(1);
    for (const id of ['a', 'b']) send({ id });
    clock.advanceTo(10);
    addEndpoint(picker, 1);
    expect(order).toEqual(['a', 'b']);
    expect(routed.get('b')?.endpoint.id).toBe('e1');
  });

  it('[Q3] wait for the endpoint that is best for them, even if another is free', () => {
    const words = Uint32Array.from({ length: 2 * 320 }, (_, at) => at + 1);
    const prompt = { count: 320, blockTokens: 64, words };
    const world = worldOf(2);
    const { send, routed, order } = world;
    send({ id: 'first', promptTokens: 20_480, prompt });
    routed.get('first')?.firstToken();
    routed.get('first')?.done('completed');
    const cachedAt = routed.get('first')?.endpoint.id;
    // Fills the endpoint that has the prompt, by its bigger cached part.
    send({ id: 'fills', promptTokens: 20_480 + 17_000, prompt });
    expect(routed.get('fills')?.endpoint.id).toBe(cachedAt);
    expect(send({ id: 'waits', promptTokens: 20_480, prompt })).toBe(false);
    expect(send({ id: 'other', promptTokens: 64 })).toBe(true);
    expect(routed.get('other')?.endpoint.id).not.toBe(cachedAt);
    routed.get('fills')?.firstToken();
    expect(order).toEqual(['first', 'fills', 'other', 'waits']);
    expect(routed.get('waits')?.endpoint.id).toBe(cachedAt);
  });

  it('[Q85] wait where another with the same beginning waits, which is computed once', () => {
    const words = Uint32Array.from({ length: 2 * 320 }, (_, at) => at + 1);
    const prompt = { count: 320, blockTokens: 64, words };
    const { send, picker, order, routed } = worldOf(2);
    for (const id of ['a', 'b']) send({ id });
    const same = { promptTokens: 20_480, prompt };
    expect([send({ id: 'c', ...same }), send({ id: 'd', ...same })]).toEqual([false, false]);
    const [[id, ...sums] = [], ...others] = picker.waits.byEndpoint;
    expect([sums, others]).toEqual([[2, 20_480, 40_960], []]);
    const busy = routed.get('a')?.endpoint.id === id ? 'a' : 'b';
    routed.get(busy)?.firstToken();
    expect(order).toEqual(['a', 'b', 'c']);
    // Nothing of it is computed before: the load of the first one counts in full.
    expect(picker.ledger.load(picker.pool.get(id as EndpointId) as Endpoint)).toMatchObject({
      pendingPrefillTokens: 20_480,
    });
  });

  it('[Q3] count for those who come later at the endpoint that they wait for', () => {
    const { send, decided, routed } = worldOf(2);
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) send({ id });
    routed.get('a')?.firstToken();
    routed.get('b')?.firstToken();
    expect(decided.map(({ request }) => request.id)).toEqual(['a', 'b', 'c', 'd']);
    const sums = decided.at(-1)?.heldBefore ?? [];
    expect(sums.map(([, requests]) => requests).reduce((sum, each) => sum + each, 0)).toBe(2);
    expect(new Set(sums.map(([id]) => id))).toEqual(new Set(['e0', 'e1']));
  });

  it('[Q5] go by priority first, then short ones before long ones that came at the same time', () => {
    const { send, order, routed } = worldOf(1);
    send({ id: 'a' });
    send({ id: 'long', promptTokens: 40_000 });
    send({ id: 'short', promptTokens: 20_000 });
    send({ id: 'important', promptTokens: 60_000, priority: 1 });
    for (const id of ['a', 'important', 'short', 'long']) routed.get(id)?.firstToken();
    expect(order).toEqual(['a', 'important', 'short', 'long']);
  });

  it('[Q113] go in the order of arrival where the order is fcfs, but by priority first', () => {
    const { send, order, routed } = worldOf(1, { order: 'fcfs' });
    send({ id: 'a' });
    send({ id: 'long', promptTokens: 40_000 });
    send({ id: 'short', promptTokens: 20_000 });
    send({ id: 'important', promptTokens: 60_000, priority: 1 });
    for (const id of ['a', 'important', 'long', 'short']) routed.get(id)?.firstToken();
    expect(order).toEqual(['a', 'important', 'long', 'short']);
  });

  it('[O388] tell how long they have waited when their clients go', () => {
    const { send, cancel, left, clock } = worldOf(1);
    for (const id of ['a', 'b', 'c']) send({ id });
    clock.advanceTo(30);
    for (const id of ['a', 'b', 'b']) cancel(id);
    expect(left).toEqual([['b', 30]]);
  });

  it('[Q4] leave nothing behind when their clients go', () => {
    const { send, order, routed, picker, cancel, clock } = worldOf(1);
    send({ id: 'a' });
    const before = clock.timers;
    for (let n = 0; n < 2000; n++) send({ id: `w${n}` });
    for (let n = 0; n < 2000; n++) cancel(`w${n}`);
    cancel('w0');
    expect(picker.waiting).toEqual({ requests: 0, bytes: 0 });
    expect(clock.timers).toBe(before);
    routed.get('a')?.done('completed');
    expect(order).toEqual(['a']);
    expect(send({ id: 'z' })).toBe(true);
  });

  it('[Q6] are bounded: one more is refused', () => {
    const { send, decided } = worldOf(1, { maxRequests: 2 });
    for (const id of ['a', 'b', 'c']) send({ id });
    expect(() => send({ id: 'd' })).toThrow('[saturated] too many requests wait');
    expect(decided.at(-1)?.error).toMatchObject({ code: 'saturated' });
  });

  it('[Q7] do not wait for an endpoint where nothing is in flight, or that is long overdue', () => {
    const world = worldOf(1);
    expect(world.send({ id: 'a', promptTokens: 500_000 })).toBe(true);
    world.send({ id: 'b' });
    world.clock.advanceTo(30_000);
    expect(world.order).toEqual(['a']);
    // Without any event it is looked at every few seconds.
    world.clock.advanceTo(49_000);
    expect(world.order).toEqual(['a', 'b']);
  });

  it('[Q7] do not wait for an endpoint that reports to be idle after what was sent there last', () => {
    const { picker, clock, send, order } = worldOf(1);
    expect(send({ id: 'a' })).toBe(true);
    expect(send({ id: 'b' })).toBe(false);
    const report = (runningRequests: number): void =>
      picker.pool.observe('e0' as EndpointId, {
        waitingQueueSize: 0,
        runningRequests,
        kvCacheUsage: 0,
        sampledAt: clock.now(),
      });
    clock.advanceTo(clock.now() + 10);
    report(0);
    expect(order).toEqual(['a']);
    clock.advanceTo(clock.now() + 200);
    report(1);
    expect(order).toEqual(['a']);
    report(0);
    expect(order).toEqual(['a', 'b']);
  });

  it('[Q8] are refused after the longest wait, by one timer', () => {
    const { send, order, clock, decided } = worldOf(1, { maxWaitMs: 5000 });
    send({ id: 'a', promptTokens: 500_000 });
    const before = clock.timers;
    send({ id: 'b' });
    clock.advanceTo(1000);
    send({ id: 'c' });
    // One ends the longest wait; the other looks again where nothing happens.
    expect(clock.timers - before).toBe(2);
    clock.advanceTo(5000);
    expect(order).toEqual(['a', '!b']);
    expect(decided.at(-1)).toMatchObject({
      error: { code: 'queue-timeout' },
      options: { waited: { heldMs: 5000, endpoint: 'e0' } },
    });
    clock.advanceTo(6000);
    expect(order).toEqual(['a', '!b', '!c']);
    expect(clock.timers).toBe(before);
  });

  it('[Q141] go only where no prompt waits, the newest first, once one is late', () => {
    const { send, order, routed, clock } = worldOf(1);
    send({ id: 'long', promptTokens: 500_000 });
    send({ id: 'old', promptTokens: 100 });
    clock.advanceTo(10_000);
    send({ id: 'new', promptTokens: 100 });
    send({ id: 'newest', promptTokens: 100 });
    routed.get('long')?.firstToken();
    expect(order).toEqual(['long', 'newest']);
    // Without the late one there is room for two steps of prompts.
    expect(send({ id: 'other', promptTokens: 100 })).toBe(false);
    routed.get('newest')?.firstToken();
    routed.get('other')?.firstToken();
    routed.get('new')?.firstToken();
    expect(order).toEqual(['long', 'newest', 'other', 'new', 'old']);
    expect(send({ id: 'last', promptTokens: 100 })).toBe(true);
  });

  it('[Q9] wait, too, for what others have sent there, as far as it is reported', () => {
    const world = worldOf(1);
    world.send({ id: 'a', promptTokens: 8000 });
    sample(world, 0, 1);
    expect(world.send({ id: 'b', promptTokens: 4000 })).toBe(true);
    sample(world, 0, 300);
    expect(world.send({ id: 'c', promptTokens: 64 })).toBe(false);
    sample(world, 0, 0);
    expect(world.order).toEqual(['a', 'b', 'c']);
  });

  it('[Q11] say in their decision how long they have waited, and for what', () => {
    const { send, decided, routed, clock } = worldOf(1);
    send({ id: 'a' });
    send({ id: 'b' });
    clock.advanceTo(120);
    routed.get('a')?.firstToken();
    expect(decided.at(-1)?.options.waited).toEqual({
      heldMs: 120,
      endpoint: 'e0',
      cachedTokens: 0,
    });
  });

  it('[Q81] end their longest wait by few timers, whatever fractions of a millisecond there are', () => {
    for (let n = 1; n <= 100; n++) {
      const { send, clock, order } = worldOf(1, { maxWaitMs: 4000 });
      clock.advanceTo(n * 731.0585786);
      send({ id: 'a', promptTokens: 500_000 });
      send({ id: 'b' });
      clock.advanceTo(clock.now() + 100 / n);
      send({ id: 'c' });
      clock.advanceTo(clock.now() + 4001);
      expect(order).toEqual(['a', '!b', '!c']);
      expect(clock.set).toBeLessThan(10);
    }
  });

  it('[Q80] are decided once in the event that places them', () => {
    const { send, order, routed, decided, picks } = worldOf(1);
    for (const id of ['a', 'b']) send({ id });
    expect([picks(), decided.length]).toEqual([2, 1]);
    routed.get('a')?.firstToken();
    expect([order, picks(), decided.length]).toEqual([['a', 'b'], 3, 2]);
    expect(decided[1]?.options.waited?.heldMs).toBe(0);
  });

  it('[Q12] are none where the configuration says nothing of it, or switches it off', () => {
    const { send, picker } = worldOf(1, { enabled: false });
    send({ id: 'a' });
    expect(send({ id: 'b' })).toBe(true);
    const reference = NAMED_CONFIGS.get('reference-default') ?? '';
    const plan = loadConfig({ text: reference, source: 'test', catalogue: EMBEDDED_CATALOGUE });
    expect(plan.hold).toBeUndefined();
    picker.adopt(plan);
    expect(send({ id: 'c' })).toBe(true);
  });
});
