import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeRequest, makeRuntime } from '../../../test/makers.ts';
import { BODY, gatedCores } from '../../../test/support/gated-cores.ts';
import { planFrom } from '../../catalogue/plan.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { DecisionEvent } from '../../picker/events/journal.ts';
import { withShedding } from '../../picker/plan/with-shedding.ts';
import type { Promotion } from '../../promotion/promotion.ts';
import { promotionRule } from '../../promotion/promotion-rule.ts';
import { createLog } from '../../runtime/log/log.ts';
import { PromotionControl, promotionActions, readPromotionRule } from './promotion-control.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-rule-'));
afterAll(() => rmSync(folder, { recursive: true }));

const plans = new Map(['default', 'random'].map((name) => [name, planFrom(name)]));

function read(text: string): () => unknown {
  const path = join(folder, 'rule.yaml');
  writeFileSync(path, text);
  return () => readPromotionRule(path, plans);
}

describe('the file with a rule of promotion', () => {
  it('needs nothing but a shadow’s name', () => {
    expect(read('shadow: default')()).toMatchObject({
      promote: { decisions: 10_000, ttftBetterPercent: 3, stepsPercent: [5, 25, 50, 95] },
      demote: { requests: 200 },
    });
  });

  it.each([
    [
      'another name',
      'shadow: nobody',
      /nobody is not a shadow of this picker; its shadows: default, random/,
    ],
    [
      'a shadow of which nothing is predicted',
      'shadow: random',
      /random has no prefix index.*add approx-prefix-cache-producer/,
    ],
    ['a field it does not know', 'shadow: default\nsteps: [5]', /steps/],
    [
      'a share above 100',
      'shadow: default\npromote: {stepsPercent: [500]}',
      /promote\.stepsPercent\[0\]/,
    ],
    [
      '[O518] a configuration',
      'plugins: [{ type: queue-scorer }]',
      /is a configuration and no promotion rule: .* --config/,
    ],
    ['no YAML', 'shadow: [', /line/],
  ])('is refused with %s', (_, text, sentence) => {
    expect(read(text)).toThrow(sentence);
  });
});

it('[G219] two pickers with one rule promote apart: another configuration at one ends nothing at the other', () => {
  const rule = promotionRule.parse({ shadow: 'random' });
  const [one, other] = [0, 1].map(() => {
    const runtime = makeRuntime();
    const { random, clock } = runtime;
    const plan = planFrom('round-robin');
    const parts = { inCharge: plan, random, clock, log: createLog('silent') };
    const control = new PromotionControl({ plans, rule, ...parts });
    const picker = new EndpointPicker({ plan, runtime, subscribers: control.subscribers });
    const promotion = control.start(picker, []);
    promotion.promote('random', 25);
    return { picker, promotion };
  });
  one?.picker.adopt(planFrom('least-queue'));
  expect(one?.promotion.status()).toMatchObject({ shadow: undefined, percent: 0 });
  expect(other?.promotion.status()).toMatchObject({ shadow: 'random', percent: 25 });
  for (const each of [one, other]) {
    each?.promotion.stop();
    each?.picker.stop();
  }
});

describe('the action that promotes', () => {
  it.each([
    ['shadow=default', /percent is missing: use/],
    ['shadow=default&percent=', /it must be a number from 0 to 100/],
    ['shadow=default&percent=101', /percent is 101; it must be/],
    ['percent=5', /shadow is missing/],
  ])('[V71] refuses %s and promotes nothing', (query, sentence) => {
    const promote = promotionActions({
      promote: () => expect.fail('it was promoted'),
    } as unknown as Promotion).get('/promote');
    expect(() => promote?.(new URLSearchParams(query))).toThrow(sentence);
  });
});

it.each([
  ['sheds', withShedding(planFrom('least-queue')), 'shed'],
  ['does not', planFrom('least-queue'), undefined],
])(
  '[G279] a promoted shadow that says nothing of saturation refuses requests of low priority where the configuration in charge %s',
  (_what, inCharge, refusal) => {
    const runtime = makeRuntime();
    const { random, clock } = runtime;
    const control = new PromotionControl({
      plans,
      inCharge,
      random,
      clock,
      log: createLog('silent'),
    });
    const refusals: unknown[] = [];
    const onDecision = ({ error }: DecisionEvent): void =>
      void refusals.push(error instanceof RoutingError ? error.code : undefined);
    const subscribers = [...control.subscribers, { onDecision }];
    const picker = new EndpointPicker({ plan: inCharge, runtime, subscribers });
    const id = 'a' as EndpointId;
    picker.pool.upsert({ id, address: 'a:1', labels: new Map() });
    const load = { waitingQueueSize: 99, runningRequests: 99, kvCacheUsage: 1 };
    picker.pool.observe(id, { ...load, sampledAt: clock.now() });
    const promotion = control.start(picker, []);
    promotion.promote('random', 100);
    const send = (): unknown => picker.route(makeRequest({ priority: -1 }));
    if (refusal === undefined) send();
    else expect(send).toThrow('saturated');
    expect(refusals).toEqual([refusal]);
    promotion.stop();
    picker.stop();
  },
);

it('[V594] a shadow stays promoted where the one before it throws at a request that it had prepared', () => {
  const { gated, plan, start, letOne, clock } = gatedCores();
  const broken = plan(`dataLayer: { injectDefaults: false }
plugins:
  - { type: gate-source, parameters: { version: broken } }
  - { type: slot-scorer, parameters: { slot: 1, fails: true } }
`);
  const inCharge = gated('one', 0);
  const control = new PromotionControl({
    plans: new Map([
      ['broken', broken],
      ['good', gated('two', 2)],
    ]),
    inCharge,
    random: makeRuntime().random,
    clock,
    log: createLog('silent'),
  });
  const { subscribers } = control;
  const picker = start(inCharge, { subscribers });
  const promotion = control.start(picker, []);
  promotion.promote('broken', 100);
  const request = makeRequest();
  let routedTo: string | undefined;
  picker.prepare?.(request, BODY, () => {
    routedTo = picker.route(request).endpoint.id;
  });
  promotion.promote('good', 100);
  letOne();
  expect(routedTo).toBe('e0');
  expect(promotion.promoted).toEqual({ shadow: 'good', percent: 100 });
  promotion.stop();
  picker.stop();
});
