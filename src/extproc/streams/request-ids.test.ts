import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { OpenStreams } from './open-streams.ts';
import { type Identified, RequestIds } from './request-ids.ts';
import type { StreamAccount } from './stream-account.ts';

/** Streams whose names of cut answers are noted. */
function setUp() {
  const streams = new OpenStreams({ heldBytesMax: 1000, streamsMax: 1000 });
  const cut: string[] = [];
  const open = (name: string, requestId: string): StreamAccount => {
    const account = streams.open(
      {
        phase: 'picked',
        refuse: () => undefined,
        reset: () => undefined,
        answerCut: () => void cut.push(name),
      },
      0,
    );
    account.named(requestId);
    return account;
  };
  return { streams, cut, open };
}

describe('the request of an entry in the access log', () => {
  it('[V480] is found without a look at the others', () => {
    const { streams, cut, open } = setUp();
    for (let each = 0; each < 100; each++) open(`stream ${each}`, `id ${each}`);
    const looksAtAll = vi.spyOn(streams, 'forEachNewest');
    streams.answerCut('id 7');
    streams.answerCut('unknown');
    expect(cut).toEqual(['stream 7']);
    expect(looksAtAll).not.toHaveBeenCalled();
  });

  it('[V474] is the open one with its id, where no other has it', () => {
    // The last two are in the same list.
    const ids = fc.constantFrom('a', 'b', '1-12345678', '2-12345678');
    const steps = fc.array(
      fc.oneof(
        fc.record({ open: ids }),
        fc.record({ close: fc.nat({ max: 20 }) }),
        fc.record({ cut: ids }),
      ),
    );
    const property = fc.property(steps, (drawn) => {
      const { streams, cut, open } = setUp();
      const opened: { name: string; id: string; account: StreamAccount; isOpen: boolean }[] = [];
      const expected: string[] = [];
      for (const step of drawn) {
        if ('open' in step) {
          const name = `stream ${opened.length}`;
          opened.push({ name, id: step.open, account: open(name, step.open), isOpen: true });
        } else if ('close' in step) {
          const stream = opened[step.close];
          if (stream?.isOpen === true) stream.account.close();
          if (stream !== undefined) stream.isOpen = false;
        } else {
          const having = opened.filter(({ id, isOpen }) => isOpen && id === step.cut);
          if (having.length === 1) expected.push(having[0]?.name ?? '');
          streams.answerCut(step.cut);
        }
      }
      expect(cut).toEqual(expected);
    });
    fc.assert(property, { seed: 1, numRuns: 500 });
  });
});

/** What was read of it is counted. */
class Watched implements Identified<Watched> {
  nextAlike: Watched | undefined;
  previousAlike: Watched | undefined;
  readonly #id: string;
  readonly #onRead: () => void;

  constructor(id: string, onRead: () => void) {
    this.#id = id;
    this.#onRead = onRead;
  }

  get clientRequestId(): string {
    this.#onRead();
    return this.#id;
  }
}

it.each([
  ['UUIDs', (n: number) => (Math.imul(n, 0x9e3779b1) >>> 0).toString(16).padStart(36, '0')],
  ['counted', (n: number) => `request-${n}`],
  ['counted, equally long', (n: number) => String(n).padStart(12, '0')],
])('[V480] an id is looked for among few of 10,000, where ids are %s', (_, idOf) => {
  const ids = new RequestIds<Watched>();
  let reads = 0;
  for (let n = 0; n < 10_000; n++) ids.add(new Watched(idOf(n), () => void (reads += 1)));
  reads = 0;
  let found = 0;
  for (let n = 0; n < 10_000; n++) if (ids.onlyOne(idOf(n)) !== undefined) found += 1;
  expect(found).toBe(10_000);
  // In lists of equal length there would be 2.4 of them.
  expect(reads / 10_000).toBeLessThan(6);
});
