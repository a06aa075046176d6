import { describe, expect, it } from 'vitest';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import type { Observer } from '../framework/observer.ts';
import { createPickerFrom, type EmbeddedPicker } from '../library/create-picker.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';

const catalogue = EMBEDDED_CATALOGUE;

function setUp(
  options: {
    readonly config?: string;
    readonly endpoints?: number;
    readonly observers?: readonly Observer[];
  } = {},
): { clock: SimulatedClock; picker: EmbeddedPicker; inFlight: () => readonly number[] } {
  const { endpoints = 4, ...rest } = options;
  const clock = new SimulatedClock();
  const counts = new Map<string, number>();
  const counting: Observer = {
    onRouted: ({ endpoint }) => void counts.set(endpoint.id, (counts.get(endpoint.id) ?? 0) + 1),
    onDone: ({ endpoint }) => void counts.set(endpoint.id, (counts.get(endpoint.id) ?? 0) - 1),
  };
  const observers = [counting, ...(rest.observers ?? [])];
  const picker = createPickerFrom(catalogue, { ...rest, seed: 1, clock, observers });
  for (let n = 0; n < endpoints; n++) {
    const id = `10.0.0.${n}:8000`;
    picker.addEndpoint({ id });
    picker.setMetrics(id, { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 });
  }
  return { clock, picker, inFlight: () => [...counts.values()] };
}

const request = (
  blockIds: readonly number[] = [],
): { model: string; promptTokens: number; blockIds: readonly number[] } => ({
  model: 'm',
  promptTokens: 640,
  blockIds,
});

describe('routing', () => {
  it('counts a pick before the next one: a burst spreads evenly', () => {
    const { picker } = setUp({ endpoints: 100 });
    const sent = new Map<string, number>();
    for (let n = 0; n < 800; n++) {
      const { endpoint } = picker.route(request());
      sent.set(endpoint.id, (sent.get(endpoint.id) ?? 0) + 1);
    }
    expect(Math.max(...sent.values()) / 8).toBeLessThanOrEqual(1.1);
  });

  it('sends a prompt where its prefix is', () => {
    const { picker } = setUp();
    const blocks = Array.from({ length: 10 }, (_, index) => index);
    const first = picker.route(request(blocks));
    first.done('completed');
    for (let n = 0; n < 20; n++) {
      const again = picker.route(request(blocks));
      expect(again.endpoint.id).toBe(first.endpoint.id);
      again.done('completed');
    }
  });

  it('reports each request to observers as routed, first token and done, once each and in that order', () => {
    const events: string[] = [];
    const { picker } = setUp({
      observers: [
        {
          onRouted: () => void events.push('routed'),
          onFirstToken: () => void events.push('first token'),
          onDone: (_routed, _at, outcome) => void events.push(outcome),
        },
      ],
    });
    const pick = picker.route(request());
    pick.firstToken();
    pick.firstToken();
    pick.done('completed');
    pick.done('failed');
    pick.firstToken();
    expect(events).toEqual(['routed', 'first token', 'completed']);
  });

  it.each([
    { promptTokens: Number.NaN, completionTokens: 1, cachedTokens: undefined },
    { promptTokens: 1, completionTokens: -1, cachedTokens: undefined },
    { promptTokens: 1, completionTokens: 1e300, cachedTokens: undefined },
    { promptTokens: 1, completionTokens: 1, cachedTokens: Number.POSITIVE_INFINITY },
  ])('[V37] passes on no token counts that cannot be: %j', (usage) => {
    const reported: unknown[] = [];
    const onDone: Observer['onDone'] = (_routed, _at, _outcome, given) => reported.push(given);
    const { picker } = setUp({ observers: [{ onDone }] });
    const sound = { promptTokens: 2, completionTokens: 3, cachedTokens: 0 };
    for (const each of [usage, sound]) picker.route(request()).done('completed', each);
    expect(reported).toEqual([undefined, sound]);
  });

  it('ends a response whose end is not seen when the engine model expects it, and not before', () => {
    const { clock, picker, inFlight } = setUp({ endpoints: 1 });
    const pick = picker.route({ ...request(), outputTokensMax: 100 }, { endVisible: false });
    pick.done('completed');
    // As when its stream is cut afterwards.
    pick.done('aborted');
    clock.setTimer(500, () => undefined);
    clock.step(500);
    expect(inFlight()).toEqual([1]);
    while (clock.step(2000)) continue;
    expect(inFlight()).toEqual([0]);
  });

  it('refuses when there is no endpoint, and when the subset allows none', () => {
    expect(() => setUp({ endpoints: 0 }).picker.route(request())).toThrow(
      /the pool has no endpoint/,
    );
    expect(() => setUp().picker.route(request(), { subset: ['10.9.9.9'] })).toThrow(
      /none of the pool's 4 endpoints is in the subset/,
    );
  });

  it('makes the same picks again from the same seed', () => {
    const picks = (): readonly string[] => {
      const { picker } = setUp({ config: 'random' });
      return Array.from({ length: 50 }, () => picker.route(request()).endpoint.id);
    };
    expect(picks()).toEqual(picks());
    expect(new Set(picks()).size).toBe(4);
  });

  it('names fallbacks in order where the picker is asked for several', () => {
    const { picker } = setUp({
      config: `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: queue-scorer}
- {type: max-score-picker, parameters: {maxNumOfEndpoints: 3}}
`,
    });
    picker.setMetrics('10.0.0.2:8000', {
      waitingQueueSize: 9,
      runningRequests: 0,
      kvCacheUsage: 0,
    });
    const { destinations } = picker.route(request());
    expect(destinations).toHaveLength(3);
    expect(destinations).not.toContain('10.0.0.2:8000');
  });
});
