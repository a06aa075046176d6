import { describe, expect, it } from 'vitest';
import { makePool } from '../../../test/makers.ts';
import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import { MemorySizes } from './memory-sizes.ts';

const TOKENS = 2000;
const UNKNOWN = 500_000;

/** Two of ours, of 2,000 tokens each; the engine runs as many as its sample says. */
const OURS: InFlightLoad = { requests: 2, contextTokens: 2 * TOKENS, pendingPrefillTokens: 0 };

interface Reported {
  readonly running: number;
  readonly used: number;
}

function sampled({ running, used }: Reported, sampledAt: number): Endpoint {
  return (makePool([{ running, kv: used, sampledAt }]) as readonly [Endpoint])[0];
}

/** The size after so many samples, which `used` says for each number of running requests. */
function shownBy(used: (running: number) => number, samples = 60): number {
  const sizes = new MemorySizes();
  let size = Number.NaN;
  for (let at = 0; at < samples; at++) {
    const running = at % 30;
    const endpoint = sampled({ running, used: used(running) }, at);
    sizes.see({ endpoint, load: OURS });
    size = sizes.of(endpoint, 1);
  }
  return size;
}

describe('the KV memory of an endpoint that does not report its size', () => {
  it('[Q274] is shown by how the share in use grows with the requests that run', () => {
    expect(shownBy((running) => (running * TOKENS) / 80_000)).toBeCloseTo(80_000);
  });

  it('[Q274] is shown as well where something else uses a part of it', () => {
    expect(shownBy((running) => 0.2 + (running * TOKENS) / 80_000)).toBeCloseTo(80_000);
  });

  it.each([0, 0.5, 1])('[Q274] is not known where %d of it is always in use', (share) => {
    expect(shownBy(() => share)).toBe(UNKNOWN);
  });

  it('[Q274] is not known from a few samples, nor from those that are seen again', () => {
    const grows = (running: number): number => (running * TOKENS) / 80_000;
    expect(shownBy(grows, 19)).toBe(UNKNOWN);
    const sizes = new MemorySizes();
    for (let times = 0; times < 60; times++) {
      const reported = { running: times % 30, used: grows(times % 30) };
      const endpoint = sampled(reported, 7 - (times % 2));
      sizes.see({ endpoint, load: OURS });
      expect(sizes.of(endpoint, 1)).toBe(UNKNOWN);
    }
  });

  it('[Q274] is never taken for more than that of an engine that shows nothing', () => {
    expect(shownBy((running) => (running * TOKENS) / 4_000_000)).toBe(UNKNOWN);
  });
});

it('[Q274] a reported size is the size, in tokens as they are counted here', () => {
  const [endpoint] = makePool([
    { attributes: [[CACHE_CONFIG as never, { blockTokens: 16, blocks: 400 }]] },
  ]) as readonly [Endpoint];
  expect(new MemorySizes().of(endpoint, 1.5)).toBe(9600);
});
