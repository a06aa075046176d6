import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { byLabelSelectorFilter, labelSelectorFilter } from './label-selector.ts';

const pool = makePool([
  { labels: { gpu: 'h100', zone: 'a' } },
  { labels: { gpu: 'h100', zone: 'b' } },
  { labels: { gpu: 'a100', zone: 'a' } },
  { labels: { zone: 'a' } },
]);

function kept(parameters: unknown, definition = labelSelectorFilter): readonly number[] {
  const filter = definition.create(definition.config.parse(parameters), makeRuntime());
  return filter.filter(pool, makeContext()).map(({ slot }) => slot);
}

function keptBy(operator: string, ...values: readonly string[]): readonly number[] {
  return kept({ matchExpressions: [{ key: 'gpu', operator, values }] });
}

describe('label-selector-filter', () => {
  it('demands that every label that is named has its value', () => {
    expect(kept({ matchLabels: { gpu: 'h100', zone: 'a' } })).toEqual([0]);
  });

  it('selects as Kubernetes does: NotIn and DoesNotExist hold where there is no such label', () => {
    expect(keptBy('In', 'h100', 'l40s')).toEqual([0, 1]);
    expect(keptBy('NotIn', 'h100')).toEqual([2, 3]);
    expect(keptBy('Exists')).toEqual([0, 1, 2]);
    expect(keptBy('DoesNotExist')).toEqual([3]);
  });

  it('demands that labels and expressions hold together', () => {
    const matchExpressions = [{ key: 'gpu', operator: 'Exists' }];
    expect(kept({ matchLabels: { zone: 'a' }, matchExpressions })).toEqual([0, 2]);
  });

  it('keeps all when it selects by nothing', () => {
    expect(kept({})).toEqual([0, 1, 2, 3]);
  });

  it('goes by its old name too', () => {
    expect(kept({ matchLabels: { gpu: 'a100' } }, byLabelSelectorFilter)).toEqual([2]);
  });

  it.each([
    { key: 'gpu', operator: 'In' },
    { key: 'gpu', operator: 'Exists', values: ['h100'] },
    { key: 'gpu', operator: 'Like', values: ['h100'] },
    { operator: 'Exists' },
    { key: 'my gpu', operator: 'Exists' },
    { key: 'a/b/c', operator: 'Exists' },
    { key: 'gpu', operator: 'In', values: ['h100', 'not a value'] },
  ])('refuses %j', (expression) => {
    expect(() => labelSelectorFilter.config.parse({ matchExpressions: [expression] })).toThrow();
  });

  it.each([
    [{ 'gpu ': 'h100' }, 'gpu '],
    [{ 'Example.com/gpu': 'h100' }, 'Example.com/gpu'],
    [{ [`${'a'.repeat(64)}`]: '' }, 'aaa'],
    [{ gpu: '-h100' }, '-h100'],
    [{ gpu: 'h'.repeat(64) }, 'hhh'],
  ])('[D506] refuses %j, which no label of Kubernetes can have', (matchLabels, named) => {
    expect(() => labelSelectorFilter.config.parse({ matchLabels })).toThrow(named);
    const fine = { 'llm-d.ai/role': 'decode', 'a_b.c': '', [`${'a'.repeat(63)}`]: 'H_1.x' };
    expect(() => labelSelectorFilter.config.parse({ matchLabels: fine })).not.toThrow();
  });
});
