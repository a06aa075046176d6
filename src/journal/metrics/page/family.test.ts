import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { counters, histograms } from './family.ts';
import { createNameCap, OTHER } from './name-cap.ts';

describe('Family', () => {
  it('is printed by prom-client with its labels in alphabetical order', async () => {
    const registry = new Registry();
    const family = counters().expose(registry, {
      name: 'things_total',
      help: 'Things.',
      labels: ['zone', 'kind'],
    });
    family.child({ zone: 'a', kind: 'x "quoted"\n' }).value = 3;
    expect(await registry.metrics()).toBe(
      '# HELP things_total [ALPHA] Things.\n# TYPE things_total counter\n' +
        'things_total{kind="x \\"quoted\\"\\n",zone="a"} 3\n',
    );
  });

  it('sums children under a name that has fewer labels', async () => {
    const registry = new Registry();
    const family = counters()
      .expose(registry, { name: 'new_total', help: 'n', labels: ['model', 'flow'] })
      .expose(registry, { name: 'old_total', help: 'o', labels: ['model'] });
    family.child({ model: 'm', flow: 'a' }).value = 2;
    family.child({ model: 'm', flow: 'b' }).value = 5;
    const page = await registry.metrics();
    expect(page).toContain('new_total{flow="a",model="m"} 2\nnew_total{flow="b",model="m"} 5\n');
    expect(page).toContain('old_total{model="m"} 7\n');
  });

  it('prints histograms cumulatively, and none that saw nothing', async () => {
    const registry = new Registry();
    const family = histograms([1, 2]).expose(registry, { name: 'h', help: 'h', labels: ['m'] });
    family.child({ m: 'silent' });
    const tally = family.child({ m: 'a' });
    for (const value of [0.5, 1.5, 9]) tally.observe(value);
    expect(await registry.metrics()).toBe(
      [
        '# HELP h [ALPHA] h',
        '# TYPE h histogram',
        'h_bucket{m="a",le="1"} 1',
        'h_bucket{m="a",le="2"} 2',
        'h_bucket{m="a",le="+Inf"} 3',
        'h_sum{m="a"} 11',
        'h_count{m="a"} 3',
        '',
      ].join('\n'),
    );
  });

  it('forgets a dropped child', async () => {
    const registry = new Registry();
    const family = counters().expose(registry, { name: 'c_total', help: 'c', labels: ['m'] });
    family.drop(family.child({ m: 'gone' }));
    expect(await registry.metrics()).not.toContain('gone');
  });
});

describe('createNameCap', () => {
  it('admits names up to the cap and keeps those for good', () => {
    const cap = createNameCap(2);
    expect(['a', 'b', 'c', 'a', 'b'].map((name) => cap.admit(name))).toEqual([
      'a',
      'b',
      OTHER,
      'a',
      'b',
    ]);
  });

  it('gives `other` for unknown names without admitting them', () => {
    const cap = createNameCap(2);
    cap.admit('a');
    expect([cap.known('a'), cap.known('b'), cap.known('b')]).toEqual(['a', OTHER, OTHER]);
    expect(cap.admit('b')).toBe('b');
  });

  it('does not admit a name that is a text', () => {
    expect(createNameCap(2).admit('x'.repeat(257))).toBe(OTHER);
  });
});
