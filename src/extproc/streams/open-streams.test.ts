import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OpenStreams } from './open-streams.ts';
import type { StreamAccount, StreamPhase } from './stream-account.ts';

/** Streams that let go of everything when they are refused. */
function setUp(heldBytesMax: number) {
  const streams = new OpenStreams({ heldBytesMax, streamsMax: 1000 });
  const refused: string[] = [];
  const open = (name: string): StreamAccount => {
    const owner = {
      phase: 'uploading' as StreamPhase,
      refuse: () => {
        owner.phase = 'refused';
        refused.push(name);
        account.release(account.heldBytes);
      },
      reset: () => undefined,
      answerCut: () => undefined,
    };
    const account = streams.open(owner, 0);
    return account;
  };
  return { streams, refused, open };
}

/**
 * Two threads with one budget, each with streams that let go of everything when they are refused.
 */
function setUpThreads(heldBytesMax: number) {
  const taken = [0, 1].map(() => ({ open: 0, held: 0 }));
  return [0, 1].map((own) => {
    const [mine, other] = [taken[own], taken[1 - own]] as [(typeof taken)[0], (typeof taken)[0]];
    const streams = new OpenStreams(
      { heldBytesMax, streamsMax: 3 },
      {
        threads: 2,
        heldBytes: () => other.held,
        openStreams: () => other.open,
        note: (open, held) => Object.assign(mine, { open, held }),
      },
    );
    const refused: string[] = [];
    const open = (name: string): StreamAccount => {
      const account = streams.open(
        {
          phase: 'uploading',
          refuse: () => {
            refused.push(name);
            account.release(account.heldBytes);
          },
          reset: () => undefined,
          answerCut: () => undefined,
        },
        0,
      );
      return account;
    };
    return { streams, refused, open };
  }) as [ReturnType<typeof setUp>, ReturnType<typeof setUp>];
}

describe('limits that threads share', () => {
  it('[V226] are all there for one thread while the others take nothing', () => {
    const [one, other] = setUpThreads(1000);
    one.open('a').received(600);
    one.open('b').received(400);
    expect([one.refused, one.streams.tooMany()]).toEqual([[], undefined]);
    one.open('c');
    expect(one.streams.tooMany()).toBeUndefined();
    other.open('d');
    expect(other.streams.tooMany()?.code).toBe('too-many-streams');
  });

  it('[V226] are kept by the thread that has more than its part', () => {
    const [one, other] = setUpThreads(1000);
    for (const name of ['a', 'b', 'c']) one.open(name).received(330);
    const late = other.open('d');
    late.received(300);
    expect([one.refused, other.refused]).toEqual([[], []]);
    // It looks once a second, and whenever something comes.
    one.streams.keepBudget();
    expect([one.refused, other.refused]).toEqual([['c'], []]);
    expect(one.streams.heldBytes + other.streams.heldBytes).toBeLessThanOrEqual(1000);
    late.received(300);
    expect(other.refused).toEqual(['d']);
  });
});

describe('the budget for kept bytes', () => {
  it('[V13] refuses the newest of the large requests, and the oldest go on', () => {
    const { streams, refused, open } = setUp(1000);
    const uploads = ['first', 'second', 'third', 'fourth'].map(open);
    for (let round = 0; round < 25; round++) for (const each of uploads) each.received(10);
    expect([streams.heldBytes, refused]).toEqual([1000, []]);
    uploads[0]?.received(10);
    expect(refused).toEqual(['fourth']);
    for (let round = 0; round < 25; round++) uploads[0]?.received(10);
    expect(refused).toEqual(['fourth', 'third']);
  });

  it('[D255] has no bytes of a stream that has closed, also where its answers leave later', () => {
    const { streams, open } = setUp(1000);
    const account = open('first');
    account.hold(100);
    account.close();
    account.hold(10);
    account.release(100);
    expect(streams.heldBytes).toBe(0);
  });

  it('[V13] refuses no small request while large ones fill the budget', () => {
    const { refused, open } = setUp(1_000_000);
    const large = Array.from({ length: 4 }, (_, index) => open(`large ${index}`));
    for (const each of large) each.received(249_000);
    const small = Array.from({ length: 100 }, (_, index) => open(`small ${index}`));
    for (const each of small) each.received(2000);
    expect(refused).toEqual(['large 3']);
  });

  it('[V13] refuses the request that asks where it is itself the newest large one', () => {
    const { refused, open } = setUp(1000);
    open('old').received(500);
    const young = open('young');
    young.received(400);
    young.received(200);
    expect(refused).toEqual(['young']);
  });

  it('[V13] keeps the budget for any streams, and refuses none below half an equal share', () => {
    const step = fc.record({
      stream: fc.integer({ min: 0, max: 19 }),
      bytes: fc.integer({ min: 1, max: 400 }),
      leaves: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const streams = new OpenStreams({ heldBytesMax: 1000, streamsMax: 1000 });
        const accounts = new Map<number, StreamAccount>();
        let share = 0;
        const open = (id: number): StreamAccount => {
          const account = streams.open(
            {
              phase: 'uploading',
              refuse: () => {
                expect(account.heldBytes).toBeGreaterThan(share / 2);
                account.close();
                accounts.delete(id);
              },
              reset: () => undefined,
              answerCut: () => undefined,
            },
            0,
          );
          accounts.set(id, account);
          return account;
        };
        for (const { stream, bytes, leaves } of steps) {
          const account = accounts.get(stream) ?? open(stream);
          share = (1000 * 15) / 16 / streams.count;
          account.received(bytes);
          expect(streams.heldBytes).toBeLessThanOrEqual(1000);
          if (!leaves || accounts.get(stream) !== account) continue;
          account.close();
          accounts.delete(stream);
        }
        for (const account of accounts.values()) account.close();
        expect([streams.heldBytes, streams.count]).toEqual([0, 0]);
      }),
      { seed: 17, numRuns: 500 },
    );
  });

  it('counts what has come in no complete message, and no more than that as handed on', () => {
    const { streams, open } = setUp(1000);
    const account = open('one');
    account.received(100);
    account.delivered(60);
    expect(streams.heldBytes).toBe(40);
    // A compressed message is larger than what came.
    account.delivered(500);
    expect(streams.heldBytes).toBe(0);
  });
});
