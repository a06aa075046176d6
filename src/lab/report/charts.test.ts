import { expect, it } from 'vitest';
import { barChart } from './chart.ts';
import { distribution, loadMap } from './charts.ts';
import { htmlTable } from './page.ts';

it('[O395] [O531] shows both ends of a name that is too long for its place beside a bar, and breaks it in a table', () => {
  const name = `pools/of-a-long-name/${'with-more-of-it/'.repeat(5)}mine.yaml`;
  const bar = { value: 1, text: '1 %', color: 'red' };
  const svg = barChart('share', [
    { ...bar, name },
    { ...bar, name: 'default' },
  ]);
  const texts = [...svg.matchAll(/>([^<>]+)<\/(?:text|tspan)>/g)].map(([, text = '']) => text);
  expect(texts).toContain('default');
  const all = texts.slice(0, texts.indexOf('default')).join('');
  const long = all.slice(all.indexOf('pools'));
  expect(long).toMatch(/^pools\/of-.*….*mine\.yaml$/);
  expect(long.length).toBeLessThanOrEqual(38);
  expect(htmlTable([['configuration'], [name, '1']])).toContain('<th scope="row" class="long">');
  expect(htmlTable([['configuration'], ['default', '1']])).toContain('<th scope="row">');
});

it('[O487] calls spans of a load map by round times, and no two by the same, however short they are', () => {
  const spans = Array.from({ length: 48 }, (_, span) => span);
  for (const binMs of [1, 40, 130, 1000, 6200]) {
    const curves = {
      ttft: [],
      tpot: [],
      e2e: [],
      binMs,
      hitRate: spans,
      waiting: [],
      load: [spans],
    };
    const svg = loadMap({ name: 'a', curves }, 48);
    const labels = [...svg.matchAll(/text-anchor="middle"[^>]*>([\d.]+)</g)].map(
      ([, text]) => text,
    );
    expect(labels.length).toBeGreaterThan(3);
    expect(new Set(labels).size).toBe(labels.length);
    for (const [at, label = ''] of labels.entries()) {
      expect(label).toMatch(/^(0|[1-9]\d*|0\.0*[1-9]|[1-9]\.\d)$/);
      expect(Number(label)).toBeCloseTo(at * Number(labels[1]), 9);
    }
  }
});

it.each([
  ['one power of ten', 27, ['24', '25', '26', '27']],
  ['several', 2700, ['100', '1,000']],
])('[O483] a distribution of times within %s has numbers beside its curve', (_, most, numbers) => {
  const ttft = Array.from({ length: 101 }, (_each, at) => 24 + ((most - 24) * at) / 100);
  const empty = { tpot: [], e2e: [], binMs: 1, hitRate: [], waiting: [], load: [] };
  const svg = distribution([{ name: 'a', curves: { ...empty, ttft } }], 'ttft', 'time');
  const texts = [...svg.matchAll(/text-anchor="middle"[^>]*>([\d.,]+)</g)].map(([, text]) => text);
  expect(texts).toEqual(expect.arrayContaining(numbers));
});
