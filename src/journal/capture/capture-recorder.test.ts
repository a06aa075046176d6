import { expect, it } from 'vitest';
import { makeDecision, makePool, makeRequest } from '../../../test/makers.ts';
import { EMBEDDED_CATALOGUE } from '../../catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../config/defaults.ts';
import { loadConfig } from '../../config/load.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { NO_BLOCKS } from '../../framework/request.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { CaptureRecord } from './capture-record.ts';
import { recordOf } from './record-of.ts';
import { startCapture } from './start-capture.ts';

const recordsOf = (lines: Uint8Array): readonly CaptureRecord[] =>
  new TextDecoder().decode(lines).trimEnd().split('\n').map(recordOf);

const HEAD = 'apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n';

const planOf = (config: string): PickerPlan =>
  loadConfig({
    text: NAMED_CONFIGS.get(config) ?? '',
    source: 'test',
    catalogue: EMBEDDED_CATALOGUE,
  });

function setUp(config = 'round-robin') {
  const plan = planOf(config);
  const clock = new SimulatedClock();
  const network = { get: () => Promise.reject(new Error('none')) };
  const runtime = { clock, random: seededRandom(1), network };
  const { picker, capture: recorder } = startCapture(
    { plan, seed: 1 },
    (capture) => new EndpointPicker({ plan, runtime, subscribers: [capture] }),
  );
  picker.pool.upsert({ id: 'a' as EndpointId, address: 'a:1', labels: new Map() });
  const written: CaptureRecord[] = [];
  recorder.listen((lines, count) => {
    const records = recordsOf(lines);
    expect(records).toHaveLength(count);
    written.push(...records);
  });
  const kinds = (): readonly string[] => {
    recorder.drain();
    return written.map(({ e }) => e);
  };
  return { clock, recorder, picker, written, kinds };
}

it('hands over what came before a reader begins, so that the reader gets nothing of it afterwards', () => {
  const { recorder, picker, written } = setUp();
  const route = (id: string): void => picker.route(makeRequest({ id })).done('completed');
  route('before');
  expect(written).toEqual([]);
  const begun = recordsOf(recorder.begin(picker.pool.snapshot()));
  expect(begun.map(({ e }) => e)).toEqual(['capture', '+']);
  expect(written.map(({ e }) => e)).toEqual(['+', 'q', 'done']);
  route('after');
  recorder.drain();
  expect(written.slice(3)).toMatchObject([
    { e: 'q', r: { id: 'after' } },
    { e: 'done', n: 1, o: 'completed' },
  ]);
  picker.stop();
});

it('records a first token and an end once: Envoy resets the stream of a request that is over', () => {
  const { picker, written, kinds } = setUp();
  const routed = picker.route(makeRequest({ id: 'a' }));
  routed.firstToken();
  routed.firstToken();
  routed.done('completed');
  routed.done('aborted');
  routed.firstToken();
  expect(kinds()).toEqual(['+', 'q', 'first', 'done']);
  expect(written.at(-1)).toMatchObject({ o: 'completed' });
  picker.stop();
});

it('records first tokens and answers whatever the plugins observe', () => {
  const { picker, kinds } = setUp('random');
  const routed = picker.route(makeRequest(), { firstTokenVisible: true });
  expect(routed.wantsAnswer).toBe(true);
  routed.firstToken();
  routed.answered(NO_BLOCKS);
  routed.served('b:1');
  routed.bodyRead(makeRequest());
  routed.done('completed');
  expect(kinds()).toEqual(['+', 'q', 'first', 'answer', 'served', 'body', 'done']);
  picker.stop();
});

it('records an end when it is reported, also where the reservation ends later, by a timer', () => {
  const { clock, picker, written, kinds } = setUp();
  const routed = picker.route(makeRequest({ streaming: false }), { endVisible: false });
  routed.done('completed');
  expect(kinds()).toEqual(['+', 'q', 'done']);
  while (clock.step(clock.now() + 100_000)) continue;
  const timers = kinds().slice(3);
  expect(timers.length).toBeGreaterThan(0);
  expect(new Set(timers)).toEqual(new Set(['timer']));
  expect(written.flatMap((each) => (each.e === 'timer' ? [each.i] : []))).toContain(
    picker.clock.timers - 1,
  );
  picker.stop();
});

it('writes only the samples that a decision has seen, before that decision', () => {
  const { picker, written, kinds } = setUp();
  const sample = (waitingQueueSize: number): void =>
    picker.pool.observe('a' as EndpointId, {
      waitingQueueSize,
      runningRequests: 0,
      kvCacheUsage: 0,
      sampledAt: waitingQueueSize,
    });
  for (const waiting of [1, 2, 3]) sample(waiting);
  picker.route(makeRequest()).done('completed');
  sample(4);
  picker.adopt(planOf('random'));
  sample(5);
  expect(kinds()).toEqual(['+', 'm', 'q', 'done', 'm', 'adopt']);
  expect(written.flatMap((each) => (each.e === 'm' ? [each.m[0]] : []))).toEqual([3, 4]);
  picker.stop();
});

it('records a refusal by its code, and begins files with the configuration in charge', () => {
  const { recorder, picker, written } = setUp();
  expect(() => picker.route(makeRequest(), { subset: ['b:1'] })).toThrow('no endpoint can serve');
  recorder.drain();
  expect(written.at(-1)).toMatchObject({ e: 'q', n: 0, d: { error: 'no-endpoints' } });
  const plan = planOf('random');
  picker.adopt(plan);
  expect(recorder.head(3, picker.pool.snapshot())).toMatchObject({
    file: 3,
    seed: 1,
    config: plan.effective,
    pool: [{ e: '+', id: 'a' }],
  });
  picker.stop();
});

it('[G291] writes no score that was made of hashes of a prompt by what had begun to prepare the request before others took over', () => {
  const { recorder, picker, written } = setUp();
  const hashing = loadConfig({
    text: `${HEAD}plugins: [{type: rendezvous-scorer}]\n`,
    source: 'test',
    catalogue: EMBEDDED_CATALOGUE,
  });
  const [endpoint] = makePool([{}]);
  if (endpoint === undefined) throw new Error('no endpoint');
  const decide = (decidedBy: string | undefined, changesAgo: number): void => {
    const targets = [{ endpoint, score: 0.5 }];
    const primary = { kind: 'picked', profile: 'p', targets } as const;
    const decision = { primary, profiles: [primary], headers: new Map(), decidedBy };
    recorder.onDecision(makeDecision({ decision, changesAgo }));
  };
  const never = { takes: () => false, onThrown: () => undefined };
  picker.challenge(hashing, { ...never, name: 'hashing' });
  picker.challenge(planOf('random'), { ...never, name: 'other' });
  decide('hashing', 1);
  picker.withdraw();
  decide('hashing', 2);
  decide('other', 1);
  picker.adopt(hashing);
  picker.adopt(planOf('random'));
  decide(undefined, 1);
  decide(undefined, 2);
  decide(undefined, 0);
  recorder.drain();
  const scores = written.flatMap((each) =>
    each.e === 'q' && 'endpoint' in each.d ? [each.d.score] : [],
  );
  const none = Number.NaN;
  expect(scores).toEqual([none, none, 0.5, none, 0.5, 0.5]);
  picker.stop();
});
