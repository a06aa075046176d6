import { expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  type FakeServer,
  FakeServers,
  vllmPage,
} from '../../../test/support/servers/fake-servers.ts';
import { planFrom } from '../../catalogue/plan.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import { DEFAULT_EJECTION, withEjection } from '../../picker/ejection/ejection-plan.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { PromotedShadow } from '../../promotion/promotion.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { LiveCounts } from './live-counts.ts';
import type { LiveHealth } from './live-message.ts';
import { LiveSource } from './live-source.ts';

function setUp(servers: Readonly<Record<string, Partial<FakeServer>>>, config = 'default') {
  const clock = new SimulatedClock({ epoch: Date.UTC(2030, 0, 1) });
  const network = new FakeServers(clock);
  const counts = new LiveCounts(clock);
  const recorder = new DecisionRecorder({ clock });
  const picker = new EndpointPicker({
    plan: withEjection(planFrom(config), DEFAULT_EJECTION),
    runtime: { clock, random: seededRandom(1), network },
    subscribers: [recorder, counts],
  });
  for (const [name, server] of Object.entries(servers)) {
    const up = { delayMs: 0, dead: false, status: 200, page: vllmPage(1) };
    network.servers.set(`${name}:8000`, { ...up, ...server });
    const labels = new Map([
      ['llm-d.ai/role', 'decode'],
      ['zone', 'a'],
    ]);
    picker.pool.upsert({ id: name as EndpointId, address: `${name}:8000`, labels });
  }
  const about = { pool: 'p', policy: 'default', documents: ['/debug/shadows'] };
  const health = (): LiveHealth => ({ state: 'ready', reasons: [] });
  const parts = { picker, counts, recorder, clock, viewers: () => 1, about, health };
  return { clock, picker, parts, source: new LiveSource(parts) };
}

it('[O2] says of each endpoint why it is not scraped', async () => {
  const { clock, picker, source } = setUp({
    good: {},
    refusing: { status: 503 },
    new: { dead: true },
  });
  source.begin();
  const rows = () => new Map(source.first().pool?.rows.map((row) => [row.id, row]));
  expect(rows().get('new')).toMatchObject({ state: 'new', why: 'no scrape has ended yet' });
  await clock.run(1500);
  expect(rows().get('good')).toMatchObject({
    state: 'ok',
    role: 'decode',
    labels: ['zone=a'],
    sample: { running: expect.any(Number) },
  });
  expect(rows().get('refusing')).toMatchObject({
    state: 'not scraped',
    why: 'http://refusing:8000/metrics answered 503',
    sample: null,
  });
  picker.stop();
});

it('[O300] [O373] says in words why an endpoint is ejected, and when it is tried again: with the next request once its time is over', () => {
  const { clock, picker, source } = setUp({ a: {} });
  source.begin();
  const why = (untilMs: number): string | undefined => {
    const until = clock.now() + untilMs;
    picker.ejector.ejected = () => ({ reason: 'trial-failed', since: 0, until });
    return source.first().pool?.rows[0]?.why;
  };
  expect(why(4000)).toBe('a trial request failed; tried again in 4 s');
  expect(why(-1)).toBe('a trial request failed; tried again with the next request');
  picker.stop();
});

it('[O7] sends at most ten of the decisions of a second, the latest, and says how many there were', async () => {
  const { clock, picker, source } = setUp({ a: {}, b: {}, c: {} });
  await clock.run(200);
  source.begin();
  expect(source.first()).toMatchObject({
    picker: { pool: 'p', stepMs: 2000, explains: true },
    decisions: { made: 0, shown: [] },
  });
  const decide = (from: number, to: number): void => {
    for (let n = from; n < to; n++) picker.route(makeRequest({ id: `r${n}` })).done('completed');
  };
  decide(0, 7);
  expect(source.next().decisions).toMatchObject({ made: 7, shown: { length: 7 } });
  decide(7, 500);
  const { made, shown } = source.next().decisions;
  expect(made).toBe(493);
  expect(shown.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, (_, at) => `r${499 - at}`));
  const [latest] = shown;
  expect(latest).toMatchObject({ candidates: 3, expectedTtftMs: expect.any(Number) });
  expect(latest?.profiles[0]?.scorers[0]?.terms).toContain('costMs');
  expect(latest?.profiles[0]?.runnerUp?.costs[0]?.more).toBeGreaterThanOrEqual(0);
  expect(source.next().decisions).toEqual({ made: 0, shown: [] });
  picker.stop();
});

it('[O208] counts what waits for flow control among what waits', () => {
  const { picker, parts } = setUp({ a: {} });
  const waiting = { request: makeRequest(), since: 0, bytes: 10, candidates: 1 };
  const router = { waitingRequests: [waiting, waiting, waiting] };
  expect(new LiveSource({ ...parts, router }).first().totals).toMatchObject({ waiting: 3 });
  picker.stop();
});

it('[O526] says in one message how many requests wait and of whom they are, so that both numbers are equal', () => {
  const { picker, parts } = setUp({ a: {} });
  expect(new LiveSource(parts).first()).not.toHaveProperty('waiting');
  const waitingRequests = Array.from({ length: 50 }, (_, n) => {
    const request = makeRequest({ fairnessId: `tenant-${n % 25}` });
    return { request, since: 0, bytes: 10, candidates: 1 };
  });
  const { totals, waiting } = new LiveSource({ ...parts, router: { waitingRequests } }).first();
  expect([totals.waiting, waiting?.requests]).toEqual([50, 50]);
  expect([waiting?.groups.length, waiting?.groupsNotShown]).toEqual([20, 5]);
  expect(waiting?.groups[0]).toMatchObject({ fairnessId: 'tenant-0', requests: 2, bytes: 20 });
  picker.stop();
});

it('[O206] says of requests before the first viewer how long they were held, too', async () => {
  const { clock, picker, source } = setUp({ a: {}, b: {} });
  await clock.run(200);
  const waited = { heldMs: 30, endpoint: 'a' as EndpointId, cachedTokens: 0 };
  picker.route(makeRequest({ id: 'r' }), { waited }).done('completed');
  source.begin();
  const [first] = source.first().decisions.shown;
  expect(first).toMatchObject({ id: 'r', held: { ms: 30, endpoint: 'a' } });
  picker.stop();
});

it('[O491] says of a trial of an ejected endpoint beside how many others it was made', () => {
  const { clock, picker, source } = setUp({ a: {}, b: {}, c: {} });
  source.begin();
  const shown = new Map<string, unknown>();
  for (let n = 0; n < 2000; n++) {
    clock.advanceTo(10 * n);
    const routed = picker.route(makeRequest({ id: `r${n}` }));
    routed.done(routed.endpoint.id === 'b' ? 'failed' : 'completed');
    const [decision] = source.next().decisions.shown;
    if (decision?.candidates === 1) shown.set(decision.id, decision.besideTrial);
    else expect(decision).not.toHaveProperty('besideTrial');
  }
  expect(shown.size).toBeGreaterThan(0);
  for (const beside of shown.values()) expect(beside).toBe(2);
  picker.stop();
});

it('[V496] counts requests that a server has lost among those in flight, and says how many they are', () => {
  const { clock, picker, source } = setUp({ a: {} });
  source.begin();
  const send = (): RoutedRequest =>
    picker.route(makeRequest({ streaming: true }), { firstTokenVisible: true });
  send();
  expect(source.first().pool?.rows[0]).not.toHaveProperty('lost');
  clock.advanceTo(10_000);
  send().firstToken();
  clock.advanceTo(11_000);
  send();
  const { pool, totals, decisions } = source.first();
  expect(pool?.rows[0]).toMatchObject({ inFlight: 3, lost: 1 });
  expect(totals.inFlight).toBe(3);
  expect(decisions.shown[0]).toMatchObject({ lostRequests: 1 });
  picker.stop();
});

it('[O281] shows no wait of less than a millisecond as one', async () => {
  const { clock, picker, source } = setUp({ a: {}, b: {} });
  await clock.run(200);
  source.begin();
  for (const heldMs of [0.06, 1]) {
    const waited = { heldMs, endpoint: undefined, cachedTokens: 0 };
    picker.route(makeRequest(), { waited }).done('completed');
  }
  const held = source.first().decisions.shown.map((shown) => shown.held);
  expect(held).toEqual([{ ms: 1 }, undefined]);
  picker.stop();
});

it('[O7] sends large pools less often, and of more than 1,000 endpoints those that say most', async () => {
  const names = Array.from({ length: 1200 }, (_, at) => [
    `e${at}`,
    { status: at === 1199 ? 500 : 200 },
  ]);
  const { clock, picker, source } = setUp(Object.fromEntries(names));
  await clock.run(600);
  const [busy] = picker.pool.snapshot();
  if (busy !== undefined) picker.route(makeRequest(), { subset: [busy.address] });
  picker.stop();
  source.begin();
  const { pool } = source.first();
  expect(pool).toMatchObject({ notShown: 200, rows: { length: 1000 } });
  expect(pool?.rows.slice(0, 2).map(({ id }) => id)).toEqual(['e1199', busy?.id]);
  expect(JSON.stringify(pool).length).toBeLessThan(500_000);
  clock.advanceTo(1600);
  expect(source.next()).not.toHaveProperty('pool');
  clock.advanceTo(2600);
  expect(source.next()).toHaveProperty('pool');
});

it('[O436] says in each message what /readyz says at that time', () => {
  const { picker, parts } = setUp({});
  let health: LiveHealth = { state: 'ready', reasons: [] };
  const source = new LiveSource({ ...parts, health: () => health });
  source.begin();
  expect(source.first().health).toEqual({ state: 'ready', reasons: [] });
  health = { state: 'not ready', reasons: ['the picker is draining'] };
  expect(source.next().health).toEqual(health);
  picker.stop();
});

it('[O479] says in each message which shadow decides how much, while one does', () => {
  const { picker, parts } = setUp({});
  let promoted: PromotedShadow | undefined;
  const source = new LiveSource({ ...parts, promoted: () => promoted });
  source.begin();
  expect(source.first()).not.toHaveProperty('promoted');
  promoted = { shadow: 'mine.yaml', percent: 20 };
  expect(source.next().promoted).toEqual({ shadow: 'mine.yaml', percent: 20 });
  promoted = undefined;
  expect(source.next()).not.toHaveProperty('promoted');
  picker.stop();
});

it.each([
  ['default', 0],
  ['least-request', null],
])('[O481] with the configuration %s the hit rate of a new prompt is %s', (config, rate) => {
  const { picker, source } = setUp({ busy: {} }, config);
  picker.route(makeRequest());
  source.begin();
  expect(source.first().pool?.rows[0]?.hitRate).toBe(rate);
  picker.stop();
});
