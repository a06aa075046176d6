import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { ModelRewrites, type RewriteTarget } from './model-rewrites.ts';
import { RequestRules } from './request-rules.ts';

const to = (model: string): readonly RewriteTarget[] => [{ model }];
const never = (): number => {
  throw new Error('nothing to draw');
};

/** How many of 20,000 requests with ids in a row each target gets. */
function shares(targets: readonly RewriteTarget[]): Readonly<Record<string, number>> {
  const rules = new RequestRules(seededRandom(11));
  rules.setRewrites([{ rule: 'r', models: ['m'], targets }]);
  const counts: Record<string, number> = {};
  for (let n = 0; n < 20_000; n++) {
    const model = rules.rewriteOf('m', `request-${n}`)?.model ?? 'none';
    counts[model] = (counts[model] ?? 0) + 1;
  }
  return counts;
}

describe('model rewrites', () => {
  it('find a name’s own rule before one for all, and of several the first', () => {
    const rewrites = new ModelRewrites([
      { rule: 'all', models: [], targets: to('base') },
      { rule: 'late all', models: [], targets: to('never') },
      { rule: 'first', models: ['a', 'b'], targets: to('x') },
      { rule: 'second', models: ['b', 'c'], targets: to('y') },
    ]);
    expect(rewrites.choose('a', never)).toEqual({ rule: 'first', model: 'x' });
    expect(rewrites.choose('b', never)).toEqual({ rule: 'first', model: 'x' });
    expect(rewrites.choose('c', never)).toEqual({ rule: 'second', model: 'y' });
    expect(rewrites.choose('A', never)).toEqual({ rule: 'all', model: 'base' });
    expect(rewrites.choose('', never)).toEqual({ rule: 'all', model: 'base' });
  });

  it('say nothing of a name that none is for', () => {
    const rewrites = new ModelRewrites([{ rule: 'r', models: ['a'], targets: to('x') }]);
    expect(rewrites.choose('b', never)).toBeUndefined();
    expect(rewrites.choose('', never)).toBeUndefined();
  });

  it('divide requests by weight', () => {
    const counts = shares([
      { model: 'stable', weight: 90 },
      { model: 'canary', weight: 10 },
    ]);
    // Six standard deviations of a binomial are 255.
    expect(Math.abs((counts['canary'] ?? 0) - 2000)).toBeLessThan(255);
    expect((counts['canary'] ?? 0) + (counts['stable'] ?? 0)).toBe(20_000);
  });

  it('divide them evenly where no target has a weight', () => {
    const counts = shares([{ model: 'a' }, { model: 'b' }, { model: 'c' }, { model: 'd' }]);
    for (const model of ['a', 'b', 'c', 'd']) {
      expect(Math.abs((counts[model] ?? 0) - 5000)).toBeLessThan(368);
    }
  });

  it('give nothing to a target without a weight where others have one', () => {
    expect(shares([{ model: 'a' }, { model: 'b', weight: 3 }])).toEqual({ b: 20_000 });
  });

  it('reach the first and the last target at the ends of chance', () => {
    const targets = [
      { model: 'a', weight: 1 },
      { model: 'b', weight: 1_000_000 },
    ];
    const rewrites = new ModelRewrites([{ rule: 'r', models: [], targets }]);
    expect(rewrites.choose('m', () => 0)?.model).toBe('a');
    expect(rewrites.choose('m', () => 1 - 2 ** -32)?.model).toBe('b');
  });
});

describe('the rules of requests', () => {
  it('draw the same target for the same request', () => {
    const rules = new RequestRules(seededRandom(3));
    rules.setRewrites([{ rule: 'r', models: [], targets: [{ model: 'a' }, { model: 'b' }] }]);
    for (let n = 0; n < 50; n++) {
      expect(rules.rewriteOf('m', `id-${n}`)).toEqual(rules.rewriteOf('m', `id-${n}`));
    }
  });

  it('give an unknown objective, or none, the priority 0', () => {
    const rules = new RequestRules(seededRandom(3));
    rules.setObjectives(new Map([['batch', -1]]));
    expect(rules.priorityOf('batch')).toBe(-1);
    expect(rules.priorityOf('other')).toBe(0);
    expect(rules.priorityOf(undefined)).toBe(0);
    rules.setObjectives(new Map());
    expect(rules.priorityOf('batch')).toBe(0);
  });
});
