import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeRuntime } from '../../../test/makers.ts';
import { planFrom } from '../../catalogue/plan.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
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
    const control = new PromotionControl({ plans, rule, random, clock, log: createLog('silent') });
    const plan = planFrom('round-robin');
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
