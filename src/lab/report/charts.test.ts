import { expect, it } from 'vitest';
import { loadMap } from './charts.ts';

it('calls no two spans of a load map by the same time, however short they are', () => {
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
  }
});
