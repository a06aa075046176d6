import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { isBefore, type Queued } from './endpoint-queue.ts';
import { FairShares } from './fair-shares.ts';
import { dueWithinMs, ORDERS, WAITING_ORDERS, type WaitingOrder } from './order.ts';
import { WaitingQueue } from './waiting-queue.ts';

const SEED = 20_261_123;
const OPEN = { isOpen: () => true, isOpenTo: () => true };
const LIMITS = { maxRequests: 2, maxBytes: 100 };

interface Item extends Queued {
  endpoint: string;
  ownMs: number;
  decidedAt: number;
}

interface Fields {
  readonly fairnessId?: string;
  readonly priority?: number;
  readonly since?: number;
  readonly ttftSloMs?: number | undefined;
  readonly ownMs?: number;
}

let items = 0;
const shares = new FairShares();
const queueOf = (): WaitingQueue<Item> => new WaitingQueue<Item>(shares);
function makeItem({
  fairnessId = 'a',
  priority = 0,
  since = 0,
  ttftSloMs,
  ownMs = 10,
}: Fields): Item {
  const request = makeRequest({ fairnessId, priority, ttftSloMs });
  const waiting = { request, since, bytes: 10, candidates: 1 };
  const share = shares.of(request);
  return { waiting, share, number: items++, ownMs, decidedAt: since, endpoint: '' };
}

const step = fc.record({
  kind: fc.constantFrom('add', 'add', 'move', 'delete'),
  priority: fc.integer({ min: -1, max: 1 }),
  endpoint: fc.constantFrom('a', 'b', 'c'),
  ownMs: fc.double({ min: 0, max: 5000, noNaN: true }),
  ttftSloMs: fc.option(fc.integer({ min: 1, max: 3000 }), { nil: undefined }),
  laterMs: fc.integer({ min: 0, max: 300 }),
  which: fc.nat(),
  closed: fc.constantFrom('', 'a', 'b', 'ac'),
});

function firstOf(all: readonly Item[], order: WaitingOrder, at: number): Item | undefined {
  let first: Item | undefined;
  for (const one of all) if (isBefore(one, first, ORDERS[order], at)) first = one;
  return first;
}

/** The first that waits for one endpoint: where one is late, one that is due, else the newest. */
function firstThere(all: readonly Item[], order: WaitingOrder, at: number): Item | undefined {
  const { lateAfterMs, hasDeadlines } = ORDERS[order];
  const late = all.some(({ waiting: { since }, ownMs }) => at - since > lateAfterMs(ownMs));
  if (!late) return firstOf(all, order, at);
  const due = all.filter(({ waiting: { since, request }, ownMs }) => {
    const slackMs = (request.ttftSloMs ?? Number.NaN) - (at - since) - ownMs;
    return hasDeadlines && slackMs >= 0 && slackMs <= dueWithinMs(ownMs);
  });
  return firstOf(due, order, at) ?? all.toSorted((a, b) => b.number - a.number)[0];
}

describe('what waits', () => {
  it.each(WAITING_ORDERS)(
    `[Q114] is found as by a look at all that wait, by %s, seed ${SEED}`,
    (order) => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
          const queue = queueOf();
          queue.orderBy(order);
          const all: Item[] = [];
          let at = 0;
          for (const { kind, endpoint, closed, which, ownMs, ...given } of steps) {
            at += given.laterMs;
            const item = all[which % Math.max(1, all.length)];
            if (kind === 'add') {
              all.push(makeItem({ ...given, since: at, ownMs }));
              queue.add(Object.assign(all.at(-1) as Item, { endpoint }), endpoint);
            } else if (kind === 'delete' && item !== undefined) {
              queue.delete(item);
              all.splice(all.indexOf(item), 1);
            } else if (item !== undefined) {
              queue.move(item, () => {
                Object.assign(item, { endpoint, ownMs, decidedAt: at });
                return endpoint;
              });
            }
            const isOpen = (one: Item): boolean => !closed.includes(one.endpoint);
            for (const priority of [-1, 0, 1]) {
              const open = all.filter(
                (one) => one.waiting.request.priority === priority && isOpen(one),
              );
              const byEndpoint = ['a', 'b', 'c'].flatMap((name) => {
                const found = firstThere(
                  open.filter((one) => one.endpoint === name),
                  order,
                  at,
                );
                return found === undefined ? [] : [found];
              });
              const first = firstOf(byEndpoint, order, at);
              expect(queue.first(priority, at, { isOpen, isOpenTo: isOpen })).toBe(first);
            }
            expect([...queue.items()]).toEqual(all);
            expect(queue.bytes).toBe(10 * all.length);
          }
        }),
        { seed: SEED },
      );
    },
  );

  it('[Q5] goes by priority, the highest first', () => {
    const queue = queueOf();
    for (const priority of [-1, 5, -1]) queue.add(makeItem({ priority }), 'a');
    expect(queue.priorities).toEqual([5, -1]);
  });

  it('[Q6] is bounded in requests and bytes', () => {
    const queue = queueOf();
    queue.add(makeItem({}), 'a');
    expect(() => queue.admit(95, LIMITS)).toThrow('requests of 10 bytes wait');
    expect(() => queue.admit(90, LIMITS)).not.toThrow();
    queue.add(makeItem({}), 'a');
    expect(() => queue.admit(1, LIMITS)).toThrow('2 requests wait');
  });

  it('[Q115] is looked at again when it has waited longer by a quarter', () => {
    const queue = queueOf();
    const since = 5000;
    const item = makeItem({ since });
    queue.add(item, 'a');
    const looks: number[] = [];
    for (let at = since; at <= since + 1000; at++) {
      if (queue.nextLook(0, at) === undefined) continue;
      looks.push(at - since);
      queue.move(item, () => {
        item.decidedAt = at;
        return 'a';
      });
    }
    expect(looks.slice(-4)).toEqual([453, 567, 709, 887]);
    expect(looks.length).toBeLessThan(30);
  });

  it('[Q113] keeps its order when another order is chosen', () => {
    const queue = queueOf();
    const [long, short] = [makeItem({ ownMs: 1000 }), makeItem({ ownMs: 1 })];
    for (const item of [long, short]) queue.add(item, 'a');
    expect(queue.first(0, 1, OPEN)).toBe(short);
    queue.orderBy('fcfs');
    expect(queue.first(0, 1, OPEN)).toBe(long);
  });

  it('[Q140] begins with the newest of a flow and endpoint where one has waited a hundred times its own time', () => {
    const queue = queueOf();
    const [old, newer, newest] = [0, 100, 200].map((since) => makeItem({ since, ownMs: 20 }));
    for (const item of [old, newer, newest]) queue.add(item as Item, 'a');
    const isLate = (at: number): boolean =>
      queue.lateness(0, 'a', (old as Item).share, at) !== undefined;
    expect([isLate(3900), queue.first(0, 3900, OPEN)]).toEqual([false, old]);
    expect([isLate(4000), queue.first(0, 4000, OPEN)]).toEqual([true, newest]);
    queue.delete(old as Item);
    expect([isLate(4000), queue.first(0, 4000, OPEN)]).toEqual([false, newer]);
    queue.orderBy('fcfs');
    expect([isLate(1e6), queue.first(0, 1e6, OPEN)]).toEqual([false, newer]);
  });

  it('[Q140] lets a deadline that can only just be met go first, also where one is late', () => {
    const queue = queueOf();
    const [old, due, newest] = [0, 3900, 3990].map((since, n) =>
      makeItem({ since, ownMs: 20, ttftSloMs: n === 1 ? 130 : undefined }),
    );
    for (const item of [old, due, newest]) queue.add(item as Item, 'a');
    expect(queue.first(0, 4000, OPEN)).toBe(due);
  });

  it('[Q114] a request whose deadline cannot be met any more is as any other', () => {
    const queue = queueOf();
    const [old, missed] = [undefined, 100].map((ttftSloMs) => makeItem({ ownMs: 20, ttftSloMs }));
    for (const item of [old, missed]) queue.add(item as Item, 'a');
    expect([60, 200].map((at) => queue.first(0, at, OPEN))).toEqual([missed, old]);
    const late = queueOf();
    for (const item of [old, missed]) late.add(item as Item, 'a');
    expect(late.first(0, 200, OPEN)).toBe(old);
  });

  it('[Q135] begins with the flow that has got least, and else goes by the order', () => {
    const queue = queueOf();
    const [long, short] = [makeItem({ ownMs: 1000 }), makeItem({ ownMs: 1 })];
    const other = makeItem({ fairnessId: 'b', ownMs: 5000 });
    for (const [item, endpoint] of [
      [long, 'e'],
      [short, 'f'],
      [other, 'g'],
    ] as const) {
      queue.add(item, endpoint);
    }
    const first = (): Item | undefined => queue.first(0, 1, OPEN);
    long.share.served = other.share.served + 1;
    expect(first()).toBe(other);
    expect(queue.first(0, 1, { ...OPEN, isOpen: (one) => one !== other })).toBe(short);
    expect(queue.first(0, 1, { ...OPEN, isOpenTo: (one) => one !== other })).toBe(short);
    queue.orderBy('fcfs');
    expect(first()).toBe(long);
  });
});

it.each(['early', 'due'] as const)(
  '[Q311] a request with a deadline that is %s is not the first after it has left',
  (when) => {
    const queue = queueOf();
    const about = { ttftSloMs: 1000, ownMs: 300 };
    const [gone, other] = [makeItem(about), makeItem({ since: 1 })];
    for (const item of [gone, other]) queue.add(item, 'a');
    // It is due from 380 ms on, until 700 ms.
    if (when === 'due') expect(queue.first(0, 400, OPEN)).toBe(gone);
    queue.delete(gone);
    expect(queue.first(0, 500, OPEN)).toBe(other);
    queue.delete(other);
    expect(queue.first(0, 500, OPEN)).toBeUndefined();
  },
);

it('[Q311] knows only the priorities of what waits, and nothing of what has left is looked at again', () => {
  const queue = queueOf();
  const items = [0, 5, 5, -1].map((priority) => makeItem({ priority }));
  for (const item of items) queue.add(item, 'a');
  expect(queue.priorities).toEqual([5, 0, -1]);
  const [zero, first, second] = items as [Item, Item, Item];
  queue.delete(zero);
  queue.delete(first);
  expect(queue.priorities).toEqual([5, -1]);
  expect(queue.nextLook(5, 1000)).toBe(second);
  queue.delete(second);
  queue.delete(second);
  expect(queue.priorities).toEqual([-1]);
  expect(queue.nextLook(5, 1000)).toBeUndefined();
  expect([queue.size, queue.bytes]).toEqual([1, 10]);
});
