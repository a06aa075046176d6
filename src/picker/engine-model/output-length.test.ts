import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted, NOW } from '../../../test/makers.ts';
import { OutputLength } from './output-length.ts';

const endpoint = makeEndpoint('a');

function answered(
  lengths: OutputLength,
  fields: { readonly model: string; readonly objective?: string },
  tokens: number,
  times: number,
): void {
  const routed = makeRouted(endpoint, { request: makeRequest(fields) });
  for (let count = 0; count < times; count++) {
    const usage = { promptTokens: 10, completionTokens: tokens, cachedTokens: undefined };
    lengths.onDone(routed, NOW, 'completed', usage);
  }
}

describe('OutputLength', () => {
  it('expects what public traces have until answers were seen, and never more than the cap', () => {
    const lengths = new OutputLength();
    expect(lengths.expected(makeRequest())).toBe(256);
    expect(lengths.expected(makeRequest({ outputTokensMax: 16 }))).toBe(16);
  });

  it('separates models and objectives', () => {
    const lengths = new OutputLength();
    answered(lengths, { model: 'chat' }, 400, 300);
    answered(lengths, { model: 'chat', objective: 'labels' }, 4, 300);
    expect(lengths.expected(makeRequest({ model: 'chat' }))).toBeGreaterThan(350);
    const labels = makeRequest({ model: 'chat', objective: 'labels' });
    expect(lengths.expected(labels)).toBeLessThan(30);
  });

  it('gives a few answers of a kind only part of the weight', () => {
    const lengths = new OutputLength();
    answered(lengths, { model: 'new' }, 1000, 1);
    const expected = lengths.expected(makeRequest({ model: 'new' }));
    expect(expected).toBeGreaterThan(300);
    expect(expected).toBeLessThan(350);
  });

  it('follows a model whose answers change', () => {
    const lengths = new OutputLength();
    answered(lengths, { model: 'm' }, 100, 500);
    answered(lengths, { model: 'm' }, 900, 300);
    expect(lengths.expected(makeRequest({ model: 'm' }))).toBeGreaterThan(750);
  });

  it.each([1_000_000, 9_007_199_254_740_991])(
    '[V37] lets one answer of a claimed %i tokens move what is expected of others little',
    (claimed) => {
      const lengths = new OutputLength();
      answered(lengths, { model: 'm' }, 250, 200);
      const [own, other] = [makeRequest({ model: 'm' }), makeRequest({ model: 'other' })];
      const before = [lengths.expected(own), lengths.expected(other)];
      answered(lengths, { model: 'm' }, claimed, 1);
      expect(lengths.expected(own)).toBeLessThan(1.2 * (before[0] ?? 0));
      expect(lengths.expected(other)).toBeLessThan(1.2 * (before[1] ?? 0));
    },
  );

  it('[V37] counts no answer as longer than its own limit', () => {
    const lengths = new OutputLength();
    const routed = makeRouted(endpoint, { request: makeRequest({ outputTokensMax: 16 }) });
    const usage = { promptTokens: 10, completionTokens: 100_000, cachedTokens: undefined };
    for (let n = 0; n < 500; n++) lengths.onDone(routed, NOW, 'completed', usage);
    expect(lengths.expected(makeRequest())).toBeLessThan(30);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('[V37] learns nothing from %d', (claimed) => {
    const lengths = new OutputLength();
    answered(lengths, { model: 'm' }, claimed, 3);
    expect(lengths.expected(makeRequest({ model: 'm' }))).toBe(256);
  });

  it('[V37] follows a model with answers of 30,000 tokens within 20 of them', () => {
    const lengths = new OutputLength();
    answered(lengths, { model: 'm' }, 30_000, 20);
    expect(lengths.expected(makeRequest({ model: 'm' }))).toBeGreaterThan(15_000);
  });

  it('learns nothing from failures', () => {
    const lengths = new OutputLength();
    const usage = { promptTokens: 1, completionTokens: 9999, cachedTokens: undefined };
    lengths.onDone(makeRouted(endpoint), NOW, 'failed', usage);
    lengths.onDone(makeRouted(endpoint), NOW, 'completed', undefined);
    expect(lengths.expected(makeRequest())).toBe(256);
  });

  it('keeps a thousand kinds at most', () => {
    const lengths = new OutputLength();
    answered(lengths, { model: 'first' }, 10, 100);
    for (let count = 0; count < 1000; count++) answered(lengths, { model: `m${count}` }, 256, 1);
    expect(lengths.expected(makeRequest({ model: 'first' }))).toBeGreaterThan(200);
  });
});
