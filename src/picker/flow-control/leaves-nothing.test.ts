import { describe, expect, test } from 'vitest';
import { ControlledBench, DETECTOR, PLAN } from '../../../test/support/controlled-bench.ts';

/** Less than two prompts of 100 tokens at a time. */
const TOKENS = {
  ...PLAN,
  requestTtlMs: 60_000,
  detector: {
    ...PLAN.detector,
    config: { ...DETECTOR, concurrencyMode: 'tokens', maxTokenConcurrency: 150 },
  },
};

describe('what leaves flow control', () => {
  test('[Q306] counts with its prompt tokens until it is routed, or its stream is over', () => {
    const bench = new ControlledBench({ plan: TOKENS, inThreads: true });
    const send = (id: string) => bench.send(id, { promptTokens: 100 });
    const goOn = (): void => {
      bench.clock.advanceTo(bench.clock.now() + 20);
      for (const ask of bench.asking.splice(0)) ask();
    };
    for (const id of ['a', 'b', 'c']) send(id);
    goOn();
    expect(bench.routed).toEqual(['a', 'b']);
    goOn();
    expect(bench.routed).toEqual(['a', 'b', 'c']);
    const [gone] = [send('gone'), send('d'), send('e')];
    bench.router.abandon(gone);
    bench.clock.advanceTo(bench.clock.now() + 20);
    expect(bench.asking).toHaveLength(3);
  });

  test('[Q306] is in flight no more where its pick fails: it is not evicted', () => {
    const plan = { ...PLAN, evicts: true };
    const bench = new ControlledBench({ plan, fails: ({ id }) => id === 'batch' });
    bench.send('batch', { priority: -1 });
    expect(bench.refused).toEqual(['batch Error: the pick fails']);
    const chat = bench.send('chat');
    bench.send('urgent', { priority: 5 });
    expect(bench.evicted).toEqual([]);
    bench.end(chat);
    expect(bench.routed).toEqual(['chat', 'urgent']);
  });

  test.each(['asks for its pick', 'is over'])(
    '[Q306] is forgotten after a refusal when its stream %s',
    (what) => {
      const bench = new ControlledBench({ inThreads: true });
      bench.send('first');
      const late = bench.send('late');
      bench.clock.advanceTo(bench.clock.now() + 1020);
      const { route } = bench.router;
      bench.router.configure(undefined);
      // The refusal is kept for the thread that has the stream.
      expect(bench.router.route).toBe(route);
      const [askFirst, askLate] = bench.asking;
      askFirst?.();
      if (what === 'is over') bench.router.abandon(late);
      else askLate?.();
      expect(bench.router.route).not.toBe(route);
      expect(bench.refused).toEqual(what === 'is over' ? [] : ['late queue-timeout']);
    },
  );
});
