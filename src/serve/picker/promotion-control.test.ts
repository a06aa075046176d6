import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { planFrom } from '../../catalogue/plan.ts';
import type { Promotion } from '../../promotion/promotion.ts';
import { promotionActions, readPromotionRule } from './promotion-control.ts';

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
    ['no YAML', 'shadow: [', /line/],
  ])('is refused with %s', (_, text, sentence) => {
    expect(read(text)).toThrow(sentence);
  });
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
