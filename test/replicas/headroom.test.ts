import { expect, it } from 'vitest';
import type { Millis } from '../../src/framework/runtime.ts';
import type { StageHeadroom } from '../../src/journal/headroom/headroom-report.ts';
import { SimulatedNetwork } from '../../src/replicas/links/simulated-network.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { blocksOf, type SharedPicker, startPicker } from './pickers.ts';

const BLOCKS = 20;
const EVERY_MS: Millis = 100;
const ANSWER_MS: Millis = 80;

/** Pickers that share and whose headroom is watched, in a pool of four endpoints. */
function setUp() {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork({ clock, delayMs: 1 });
  let requests = 0;
  const start = (id: string): SharedPicker => {
    const picker = startPicker(id, { clock, openLink: network.open });
    picker.headroom.start();
    return picker;
  };
  /** The pickers get the requests in turn, ten of them in a second. */
  const serve = (seconds: number, pickers: readonly SharedPicker[], end = true): void => {
    for (const until = clock.now() + 1000 * seconds; clock.now() < until; ) {
      const at = clock.now();
      const routed = pickers[requests % pickers.length]?.route(blocksOf(BLOCKS, 1000 * requests));
      requests += 1;
      clock.advanceTo(at + ANSWER_MS);
      routed?.firstToken();
      if (end) routed?.done('completed');
      clock.advanceTo(at + EVERY_MS);
    }
  };
  return { clock, network, start, serve };
}

function stageOf({ headroom }: SharedPicker): StageHeadroom {
  const [stage] = headroom.report().stages;
  if (stage === undefined) throw new Error('the pool has no stage');
  return stage;
}

it('[O390] says at each of several pickers that share what the pool needs, and what its own requests need', () => {
  const { start, serve } = setUp();
  const alone = setUp();
  const pickers = ['a', 'b', 'c'].map(start);
  const one = alone.start('one');
  serve(90, pickers);
  alone.serve(90, [one]);
  const whole = stageOf(one);
  expect(whole.requestsPerSecond?.used).toBeCloseTo(10, 6);
  expect(whole.desiredReplicas).toBeGreaterThan(1);
  for (const each of pickers) {
    const stage = stageOf(each);
    expect(stage.requestsPerSecond?.used).toBeCloseTo(10, 0);
    expect((stage.utilization ?? 0) / (whole.utilization ?? 0)).toBeCloseTo(1, 1);
    expect(stage.desiredReplicas).toBe(whole.desiredReplicas);
    expect((stage.neededReplicas ?? 0) / (whole.neededReplicas ?? 0)).toBeCloseTo(1 / 3, 1);
    expect(each.headroom.report().active).toBe(true);
  }
  const sum = pickers.reduce((total, each) => total + (stageOf(each).neededReplicas ?? 0), 0);
  expect(sum / (whole.neededReplicas ?? 0)).toBeCloseTo(1, 1);
});

it('[O390] counts on as many requests at the others as before while it has no connection to them', () => {
  const { clock, network, start, serve } = setUp();
  const [a, b] = [start('a'), start('b')];
  serve(90, [a, b]);
  const before = stageOf(a);
  network.cut('a');
  serve(120, [a, b]);
  expect(stageOf(a).desiredReplicas).toBe(before.desiredReplicas);
  expect(stageOf(a).requestsPerSecond?.used).toBeCloseTo(10, 0);
  // One that is gone has no requests any more.
  network.reconnect('a');
  serve(1, [a, b]);
  void b.stop();
  serve(30, [a]);
  expect(stageOf(a).requestsPerSecond?.used).toBeCloseTo(10, 0);
  clock.advanceTo(clock.now() + 30_000);
  expect(stageOf(a).requestsPerSecond?.used).toBe(0);
});

it('[O390] does not count what others had open before as requests that arrive', () => {
  const { start, serve, clock } = setUp();
  const a = start('a');
  serve(30, [a], false);
  const b = start('b');
  clock.advanceTo(clock.now() + 3000);
  expect(b.loads()).toEqual(a.loads());
  b.route(blocksOf(BLOCKS)).done('completed');
  clock.advanceTo(clock.now() + 1000);
  expect(stageOf(b).requestsPerSecond?.used).toBeLessThan(2);
});
