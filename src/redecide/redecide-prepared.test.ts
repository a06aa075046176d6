import { expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { BODY, gatedCores } from '../../test/support/gated-cores.ts';
import { decidedOtherwise, redecideAll } from '../../test/support/redecided.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { CaptureRecord } from '../journal/capture/capture-record.ts';
import { recordOf } from '../journal/capture/record-of.ts';
import { startCapture } from '../journal/capture/start-capture.ts';
import { PREPARATION_MS_MAX } from '../picker/cores/preparation.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import type { RunRedecision } from './redecide.ts';

/** A captured picker whose requests wait until they are let go, at an endpoint for each plan. */
function setUp() {
  const cores = gatedCores();
  const { clock, gated, log, catalogue } = cores;
  const lines: string[] = [];
  const plan = gated('v0', 0);
  const { picker, capture } = startCapture({ plan, seed: 1 }, (subscriber) => {
    subscriber.listen((bytes) => void lines.push(new TextDecoder().decode(bytes)));
    return cores.start(plan, { subscribers: [subscriber] });
  });
  const ask = (id: string): void => {
    const request = makeRequest({ id });
    picker.prepare?.(request, BODY, () => void picker.route(request));
  };
  /** Its client leaves before it is prepared: it has no record. */
  const leave = (id: string): void => void picker.prepare?.(makeRequest({ id }), BODY, () => {});
  let version = 0;
  const next = (): PickerPlan => {
    version += 1;
    return gated(`v${version}`, version % 3);
  };
  const adopt = (): void => picker.adopt(next());
  /** Another plan decides the requests whose id begins with c. */
  const challenge = (): void => {
    const takes = ({ id }: InferenceRequest): boolean => id.startsWith('c');
    picker.challenge(next(), { name: 'canary', takes, onThrown: () => undefined });
  };
  const withdraw = (): void => picker.withdraw();
  const pass = (ms: number): void => {
    clock.setTimer(ms, () => undefined);
    while (clock.step(clock.now() + ms)) continue;
  };
  const records = (): readonly CaptureRecord[] => {
    picker.stop();
    capture.drain();
    const [head, ...rest] = [
      JSON.stringify({ ...capture.head(0), config: plan.effective }),
      ...lines,
    ];
    return [head, ...rest.join('').trimEnd().split('\n')].map((line) => recordOf(line ?? ''));
  };
  const again = async (
    captured: readonly CaptureRecord[],
  ): Promise<{ readonly decided: readonly RunRedecision[]; readonly log: readonly string[] }> => {
    log.length = 0;
    const decided = await redecideAll(captured, { catalogue, randomOf: seededRandom });
    return { decided, log: [...log] };
  };
  const changes = { adopt, challenge, withdraw };
  return { ...cores, ...changes, ask, leave, pass, records, again };
}

const endpointsOf = (decided: readonly RunRedecision[]): readonly (readonly string[])[] =>
  decided.map(({ request, is }) => [request.id, 'endpoint' in is ? is.endpoint : is.error]);

it('[G255] requests that a configuration had begun to prepare are decided again by it, also after others were adopted', async () => {
  const { ask, adopt, letOne, records, again, log } = setUp();
  ask('first');
  adopt();
  ask('second');
  adopt();
  for (let n = 0; n < 2; n++) letOne();
  ask('third');
  letOne();
  const live = log.filter((line) => !line.startsWith('start'));
  const { decided, log: redone } = await again(records());
  expect(endpointsOf(decided)).toEqual([
    ['first', 'e0'],
    ['second', 'e1'],
    ['third', 'e2'],
  ]);
  expect(decidedOtherwise(decided)).toEqual([]);
  // Its plugins know of the request, and are stopped when none of their requests is left.
  const order = (lines: readonly string[]) => lines.filter((line) => / routed|stop/.test(line));
  expect(order(live)).toEqual(['v0 routed', 'stop v0', 'v1 routed', 'stop v1', 'v2 routed']);
  expect(order(redone)).toEqual([...order(live), 'stop v2']);
});

it('[G256] records without what was prepared are decided by the configuration in charge, as earlier builds wrote them', async () => {
  const { ask, adopt, letOne, records, again } = setUp();
  ask('first');
  adopt();
  letOne();
  const captured = records();
  expect(captured.filter(({ e }) => e === 'adopt')).toMatchObject([{ undecided: 1 }]);
  expect(captured.filter(({ e }) => e === 'q')).toMatchObject([{ adoptionsAgo: 1 }]);
  const earlier = captured.map((record) => ({
    ...record,
    undecided: undefined,
    adoptionsAgo: undefined,
  }));
  const { decided } = await again(earlier);
  expect(endpointsOf(decided)).toEqual([['first', 'e1']]);
});

it('[G257] where a client leaves while its request is prepared, the plugins before are stopped at the first change of the configuration a minute later', async () => {
  const { leave, adopt, pass, records, again } = setUp();
  leave('gone');
  for (const ms of [0, PREPARATION_MS_MAX, 1]) {
    pass(ms);
    adopt();
  }
  const { log: redone } = await again(records());
  const stops = redone.filter((line) => /^(stop|start v[23])/.test(line));
  expect(stops).toEqual(['start v2', 'stop v1', 'stop v0', 'start v3', 'stop v2', 'stop v3']);
});

it('[G255] any order of requests, answers to plugins, and configurations is decided again exactly', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { ask, adopt, letOne, pass, records, again } = setUp();
    const random = seededRandom(seed);
    for (let n = 0; n < 300; n++) {
      pass(1);
      const drawn = random.next();
      if (drawn < 0.45) ask(`r${n}`);
      else if (drawn < 0.9) letOne();
      else adopt();
    }
    const captured = records();
    const late = captured.filter((each) => each.e === 'q' && (each.adoptionsAgo ?? 0) > 0);
    expect([seed, late.length > 20]).toEqual([seed, true]);
    const { decided } = await again(captured);
    expect([seed, decidedOtherwise(decided)]).toEqual([seed, []]);
  }
});

/** Which plans have decided, and whose plugins have seen what was sent. */
const learned = (log: readonly string[]): readonly string[] =>
  log.filter((line) => /^decided| routed/.test(line));

it.each([
  ['another challenges', ['challenge']],
  ['nothing challenges any more', ['withdraw']],
  ['another is adopted', ['adopt']],
  ['several changes', ['withdraw', 'challenge', 'adopt', 'challenge']],
] as const)(
  '[G290] requests that a challenger and the configuration in charge had begun to prepare are decided again by these after %s',
  async (_what, changes) => {
    const world = setUp();
    const { ask, letOne, records, again, log } = world;
    world.challenge();
    for (const id of ['c1', 'a1']) ask(id);
    for (const change of changes) world[change]();
    for (const id of ['c2', 'a2']) ask(id);
    for (let n = 0; n < 4; n++) letOne();
    const live = learned(log);
    expect(live.slice(0, 2)).toEqual(['decided by 1 with v1', 'v1 routed']);
    const { decided, log: redone } = await again(records());
    expect(learned(redone)).toEqual(live);
    expect(decidedOtherwise(decided)).toEqual([]);
  },
);

it('[G290] any order of requests, answers to plugins, challenges and configurations is decided again exactly', async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { ask, adopt, challenge, withdraw, letOne, pass, records, again, log } = setUp();
    const random = seededRandom(seed);
    for (let n = 0; n < 300; n++) {
      pass(1);
      const drawn = random.next();
      if (drawn < 0.43) ask(`${random.next() < 0.5 ? 'c' : 'a'}${n}`);
      else if (drawn < 0.86) letOne();
      else if (drawn < 0.92) challenge();
      else if (drawn < 0.96) withdraw();
      else adopt();
    }
    const live = learned(log);
    const captured = records();
    const late = captured.filter((each) => each.e === 'q' && (each.changesAgo ?? 0) > 0);
    expect([seed, late.length > 20]).toEqual([seed, true]);
    const { decided, log: redone } = await again(captured);
    expect([seed, learned(redone)]).toEqual([seed, live]);
    expect([seed, decidedOtherwise(decided)]).toEqual([seed, []]);
  }
});
