import { describe, expect, it } from 'vitest';
import { isLong } from '../../../test/support/long-runs.ts';
import { runCapacityStorm } from '../../../test/support/storms/capacity-storm.ts';
import { runPartedStorm } from '../../../test/support/storms/parted-storm.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { createPicker } from '../../library/picker-maker.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { placesOf } from './capacity-part.ts';

const CONFIG = (more: string): string => `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: queue-scorer}]
schedulingProfiles: [{name: default, plugins: [{pluginRef: queue-scorer}]}]
${more}
`;

const PICKS = isLong ? 10_000 : 4000;
const REQUEST = { model: 'm', promptTokens: 100 };

function pickerOf(more: string): ReturnType<typeof createPicker> {
  const picker = createPicker({ config: CONFIG(more), seed: 1, clock: new SimulatedClock() });
  for (const [id, queue] of [
    ['best', 0],
    ['next', 5],
  ] as const) {
    picker.addEndpoint({ id });
    picker.setMetrics(id, { waitingQueueSize: queue, runningRequests: 0, kvCacheUsage: 0 });
  }
  return picker;
}

describe('capacity', () => {
  it.each([
    { waits: true, seed: 31 },
    { waits: false, seed: 32 },
  ])(
    '[Q100] is never exceeded, with kills, removals and returns of endpoints: waits $waits, seed $seed',
    ({ waits, seed }) => {
      const result = runCapacityStorm({ seed, picks: 2 * PICKS, waits });
      expect(result).toMatchObject({ overshot: 0, lost: 0 });
      expect(result.placed).toBeGreaterThan(PICKS);
      expect(waits ? result.waited : result.refused).toBeGreaterThan(1000);
    },
  );

  it.each([2, 3, 4])(
    '[O156] is never exceeded by %i pickers with a part each, with kills and lost messages',
    (pickers) => {
      const storm = { seed: 40 + pickers, picks: PICKS, pickers };
      const parted = runPartedStorm({ ...storm, hasParts: true });
      expect(parted).toMatchObject({ overshot: 0, most: 7 });
      expect(parted.refused).toBeGreaterThan(100);
      expect(runPartedStorm({ ...storm, hasParts: false }).overshot).toBeGreaterThan(0);
    },
  );

  it('[O156] is divided without a remainder, and not always to the same picker', () => {
    const endpoints = Array.from({ length: 40 }, (_, n) => ({ address: `10.0.0.${n}:8000` }));
    for (const sharers of [1, 2, 3, 5, 64]) {
      for (const { address } of endpoints) {
        const parts = Array.from({ length: sharers }, (_, n) =>
          placesOf({ number: n + 1, of: sharers }, 7, address),
        );
        expect(parts.reduce((sum, each) => sum + each, 0)).toBe(7);
        expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
      }
    }
    const first = new Set(
      endpoints.map(({ address }) => placesOf({ number: 1, of: 2 }, 7, address)),
    );
    expect(first).toEqual(new Set([3, 4]));
  });

  it('[Q101] sends a request to the next candidate where the best one is full', () => {
    const picker = pickerOf('capacity: {maxConcurrency: 2}');
    const to = (): string => picker.route(REQUEST).endpoint.id;
    expect([to(), to(), to(), to()]).toEqual(['best', 'best', 'next', 'next']);
  });

  it('[Q101] refuses with 429 and a reason where all are full and requests do not wait', () => {
    const picker = pickerOf('capacity: {maxConcurrency: 1}');
    const first = picker.route(REQUEST);
    picker.route(REQUEST);
    expect(() => picker.route(REQUEST)).toThrow(
      '[saturated] all 2 endpoints that may serve this request have as many requests in flight as they may; try again',
    );
    first.done('completed');
    expect(picker.route(REQUEST).endpoint.id).toBe('best');
  });

  it('[Q101] lets a request wait where all are full and the configuration has hold', () => {
    const picker = pickerOf('capacity: {maxConcurrency: 1}\nhold: {enabled: true}');
    const first = picker.route(REQUEST);
    picker.route(REQUEST);
    let placed: RoutedRequest | undefined;
    const placement = {
      placed: (routed: RoutedRequest) => {
        placed = routed;
      },
      refused: () => undefined,
    };
    expect(picker.enqueueWith(REQUEST, placement)).toBeUndefined();
    expect(placed).toBeUndefined();
    first.done('completed');
    expect(placed?.endpoint.id).toBe('best');
  });

  it('[Q101] lets a request wait for the full endpoint that filters leave, beside others with room', () => {
    const only = 'hold: {enabled: true}\ncapacity: {maxConcurrency: 1}';
    const config = CONFIG(only)
      .replace(
        '[{type: queue-scorer}]',
        '[{type: queue-scorer}, {type: by-label-selector, parameters: {matchLabels: {a: b}}}]',
      )
      .replace(
        '[{pluginRef: queue-scorer}]',
        '[{pluginRef: by-label-selector}, {pluginRef: queue-scorer}]',
      );
    const picker = createPicker({ config, seed: 1, clock: new SimulatedClock() });
    picker.addEndpoint({ id: 'other' });
    picker.addEndpoint({ id: 'only', labels: { a: 'b' } });
    const first = picker.route(REQUEST);
    const order: string[] = [];
    const placement = {
      placed: ({ endpoint }: RoutedRequest) => void order.push(endpoint.id),
      refused: () => void order.push('refused'),
    };
    expect(picker.enqueueWith(REQUEST, placement)).toBeUndefined();
    first.done('completed');
    expect(order).toEqual(['only']);
  });

  it('[Q102] takes the bound of an endpoint from its label, where it is a whole number', () => {
    const picker = pickerOf('capacity: {maxConcurrencyLabel: places}');
    picker.addEndpoint({ id: 'best', labels: { places: '1' } });
    picker.addEndpoint({ id: 'next', labels: { places: 'many' } });
    const to = (): string => picker.route(REQUEST).endpoint.id;
    expect([to(), to(), to()]).toEqual(['best', 'next', 'next']);
  });

  it('[Q102] refuses a configuration that bounds nothing', () => {
    expect(() => pickerOf('capacity: {}')).toThrow('maxConcurrencyLabel');
    expect(() => pickerOf('capacity: {maxConcurrency: 0}')).toThrow('capacity.maxConcurrency');
  });
});
