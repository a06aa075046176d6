import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { blocksOf, type SharedPicker, startPicker } from '../../test/replicas/pickers.ts';
import type { Outcome } from '../framework/observer.ts';
import type { Millis } from '../framework/runtime.ts';
import { chainBlockIds } from '../openai/prompts/chain-block-ids.ts';
import type { RequestElsewhere } from '../picker/cycles/elsewhere.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';

const USAGE = { promptTokens: 650, completionTokens: 20, cachedTokens: 0 };
const requestOf = (id: string, from: number) => {
  const prompt = chainBlockIds(blocksOf(10, from), { seedText: 'm', blockTokens: 64 });
  return makeRequest({ id, model: 'm', promptTokens: 650, prompt });
};

/** What a picker would decide, and whom it has ejected. */
function knownTo({ picker }: SharedPicker): unknown {
  const pool = picker.pool.snapshot();
  const scores = [0, 1000, 5000].map((from) => {
    const { profiles } = picker.decideOnly(requestOf('asked', from)).decision;
    return profiles.map((each) => each.run?.scores);
  });
  return { scores, ejected: pool.map((each) => picker.ejector.ejected(each)?.reason) };
}

/** What a picker knows after requests of others, told as they went on, or after their end. */
function learned(outcomeAt: (slot: number) => Outcome, isTold: 'as-it-goes' | 'ended'): unknown {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  const shared = startPicker('a', { clock, openLink: network.open });
  const { elsewhere, pool } = shared.picker;
  for (let number = 0; number < 60; number++) {
    clock.advanceTo(clock.now() + 500);
    const endpoint = pool.snapshot()[number % 4];
    if (endpoint === undefined) throw new Error('there are four endpoints');
    const at = (ms: Millis): Millis => clock.now() - 300 + ms;
    const [firstTokenAt, endAt, outcome] = [
      at(100 + 20 * endpoint.slot),
      at(250),
      outcomeAt(endpoint.slot),
    ];
    const booked: RequestElsewhere = {
      number,
      request: requestOf(`other/${number}`, 1000 * (number % 3)),
      endpoint,
      prefill: undefined,
      cachedTokens: 0,
      load: { requests: number % 5, pendingPrefillTokens: 100 * (number % 2), contextTokens: 900 },
      firstTokenVisible: true,
      messageDelayMs: 100,
    };
    elsewhere.events(() => {
      elsewhere.happenedAt(at(0));
      if (isTold === 'ended') {
        const ending = { firstTokenAt, at: endAt, outcome, usage: USAGE };
        return elsewhere.ended(booked, ending);
      }
      const routed = elsewhere.book(booked);
      elsewhere.happenedAt(firstTokenAt);
      routed.firstToken();
      elsewhere.happenedAt(endAt);
      routed.done(outcome, USAGE);
    });
    expect(shared.loads()).toEqual([0, 0, 0, 0]);
  }
  return knownTo(shared);
}

describe('[G229] a request of another replica that has ended when it becomes known', () => {
  it.each<[string, (slot: number) => Outcome]>([
    ['completed', () => 'completed'],
    ['failed at one endpoint', (slot) => (slot === 2 ? 'failed' : 'completed')],
    ['left by clients', () => 'aborted'],
  ])('teaches the same as one that is told as it goes on: %s', (_name, outcomeAt) => {
    expect(learned(outcomeAt, 'ended')).toEqual(learned(outcomeAt, 'as-it-goes'));
  });

  it('is sent in one piece where it ends before its batch is sent, and reserves nothing', () => {
    const clock = new SimulatedClock();
    const network = new SimulatedNetwork({ clock, delayMs: 1 });
    const [a, b] = ['a', 'b'].map((id) => startPicker(id, { clock, openLink: network.open })) as [
      SharedPicker,
      SharedPicker,
    ];
    clock.advanceTo(100);
    const { elsewhere } = b.picker;
    const book = elsewhere.book.bind(elsewhere);
    let booked = 0;
    elsewhere.book = (request) => {
      booked += 1;
      return book(request);
    };
    const before = knownTo(b);
    for (let n = 0; n < 6; n++) {
      const routed = a.route(blocksOf(40, 1000 * n));
      routed.firstToken();
      routed.done('completed', USAGE);
      clock.advanceTo(clock.now() + 100);
    }
    expect([booked, b.replica.status().peers[0]?.events]).toEqual([0, 18]);
    // They differ by the milliseconds in which messages are under way.
    const rounded = (known: unknown): string =>
      JSON.stringify(known, (_key, value) =>
        typeof value === 'number' ? value.toFixed(6) : (value as unknown),
      );
    expect(rounded(knownTo(b))).not.toEqual(rounded(before));
    expect(rounded(knownTo(b))).toEqual(rounded(knownTo(a)));
    clock.advanceTo(clock.now() + 200);
    a.route(blocksOf(3));
    clock.advanceTo(clock.now() + 200);
    expect(booked).toBe(1);
  });

  it('is sent as it is once more is known of it: another endpoint serves it', () => {
    const clock = new SimulatedClock();
    const network = new SimulatedNetwork({ clock, delayMs: 1 });
    const [a, b] = ['a', 'b'].map((id) => startPicker(id, { clock, openLink: network.open })) as [
      SharedPicker,
      SharedPicker,
    ];
    clock.advanceTo(100);
    const routed = a.route(blocksOf(4));
    const [other] = a.picker.pool.snapshot().filter(({ id }) => id !== routed.destinations[0]);
    routed.served(other?.address ?? '');
    clock.advanceTo(clock.now() + 20);
    expect(b.loads()).toEqual(a.loads());
    routed.done('completed', USAGE);
    clock.advanceTo(clock.now() + 100);
    expect(b.loads()).toEqual([0, 0, 0, 0]);
    expect(b.picker.ejector.fallbacks).toBe(1);
  });
});
