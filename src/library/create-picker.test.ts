import { describe, expect, it, vi } from 'vitest';
import type { PluginFault } from '../framework/error.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { createPicker } from './picker-maker.ts';

const IDLE = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
const BUSY = { waitingQueueSize: 9, runningRequests: 40, kvCacheUsage: 0.9 };

const LATE = { model: 'm', promptTokens: 10, priority: 9 };
const ONE_IN_FLIGHT = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
plugins:
  - type: active-request-scorer
  - type: concurrency-detector
    parameters: { maxConcurrency: 1 }
flowControl:
  defaultRequestTTL: 1s
  saturationDetector: { pluginRef: concurrency-detector }
`;

function fail({ error }: PluginFault): never {
  throw error;
}

/** Lets what promises have to do be done. */
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('createPicker', () => {
  it('needs no options: the default policy, real time, chance of its own', () => {
    const picker = createPicker();
    picker.addEndpoint({ id: '10.0.0.1:8000' });
    const pick = picker.route({ model: 'm', promptTokens: 100 });
    expect(pick.destinations).toEqual(['10.0.0.1:8000']);
    pick.done('completed');
    picker.stop();
  });

  it('gives the same picks for the same calls, seed and clock', () => {
    const picks = (seed: number): readonly string[] => {
      const picker = createPicker({ config: 'random', seed, clock: new SimulatedClock() });
      for (let at = 0; at < 8; at++) picker.addEndpoint({ id: `e${at}` });
      return Array.from({ length: 20 }, () => picker.route({ model: 'm', promptTokens: 1 })).map(
        ({ endpoint }) => endpoint.id,
      );
    };
    expect(picks(1)).toEqual(picks(1));
    expect(picks(1)).not.toEqual(picks(2));
  });

  it('reads a request’s body, and refuses one that is not JSON', () => {
    const picker = createPicker({ seed: 1, clock: new SimulatedClock() });
    picker.addEndpoint({ id: 'a' });
    const body = JSON.stringify({ model: 'llama', messages: [{ role: 'user', content: 'hello' }] });
    expect(picker.route({ body }).request.model).toBe('llama');
    expect(() => picker.route({ body: '{' })).toThrow('[invalid-request]');
  });

  it('prefers an idle endpoint to a busy one', () => {
    const picker = createPicker({ config: 'least-queue', seed: 1, clock: new SimulatedClock() });
    for (const id of ['busy', 'idle']) picker.addEndpoint({ id });
    picker.setMetrics('busy', BUSY);
    picker.setMetrics('idle', IDLE);
    expect(picker.route({ model: 'm', promptTokens: 100 }).endpoint.id).toBe('idle');
  });

  it('refuses metrics and removals of an endpoint it does not know', () => {
    const picker = createPicker({ seed: 1, clock: new SimulatedClock() });
    for (const id of ['a', 'b']) picker.addEndpoint({ id });
    expect(() => picker.setMetrics('c', IDLE)).toThrow(
      'setMetrics: no endpoint has the id c (2 known); call addEndpoint first',
    );
    picker.removeEndpoint('b');
    expect(() => picker.removeEndpoint('b')).toThrow(
      'removeEndpoint: no endpoint has the id b (1 known)',
    );
    expect(picker.endpoints().map(({ id }) => id)).toEqual(['a']);
  });

  it.each([
    [{ promptTokens: Number.NaN }, 'promptTokens is NaN; give a number of 0 or more'],
    [{ promptTokens: undefined }, 'promptTokens is undefined'],
    [{ promptTokens: '7' }, 'promptTokens is "7"'],
    [{ outputTokensMax: -5 }, 'outputTokensMax is -5'],
    [{ ttftSloMs: Number.POSITIVE_INFINITY }, 'ttftSloMs is Infinity'],
    [{ priority: Number.NaN }, 'priority is NaN; give a finite number'],
    [{ blockTokens: 0 }, 'blockTokens is 0; give a whole number of 1 or more'],
  ])('[V283] refuses %j, and decides the next request as if it had not come', (wrong, message) => {
    const picker = createPicker({ seed: 1, clock: new SimulatedClock(), onFault: fail });
    for (const id of ['a', 'b']) picker.addEndpoint({ id });
    const request = { model: 'm', promptTokens: 7, ...wrong } as {
      model: string;
      promptTokens: number;
    };
    expect(() => picker.route(request)).toThrow(message);
    picker.route({ model: 'm', promptTokens: 7 });
  });

  it.each([
    [
      { waitingQueueSize: Number.NaN },
      'setMetrics: waitingQueueSize is NaN; give a number of 0 or more',
    ],
    [{ runningRequests: -3 }, 'setMetrics: runningRequests is -3'],
    [{ kvCacheUsage: 7 }, 'setMetrics: kvCacheUsage is 7; give a number from 0 to 1'],
  ])('[V283] refuses the sample %j', (wrong, message) => {
    const picker = createPicker({ seed: 1, clock: new SimulatedClock() });
    picker.addEndpoint({ id: 'a' });
    expect(() => picker.setMetrics('a', { ...IDLE, ...wrong })).toThrow(message);
  });

  it('refuses requests before an endpoint is added', () => {
    const picker = createPicker({ seed: 1, clock: new SimulatedClock() });
    expect(() => picker.route({ model: 'm', promptTokens: 1 })).toThrow('[no-endpoints]');
  });

  it('[Q116] lets requests wait for flow control, and go by priority and in time', async () => {
    const clock = new SimulatedClock();
    const picker = createPicker({ seed: 1, clock, config: ONE_IN_FLIGHT });
    picker.addEndpoint({ id: 'a' });
    const order: string[] = [];
    const send = async (name: string, priority: number): Promise<void> => {
      const request = { model: 'm', promptTokens: 10, priority, fairnessId: name };
      const routed = await picker.enqueue(request).catch(({ code }: { code: string }) => code);
      order.push(typeof routed === 'string' ? `${name}: ${routed}` : name);
      if (typeof routed !== 'string') clock.setTimer(400, () => routed.done('completed'));
    };
    const given = new AbortController();
    const gone = send('first', 0).then(() => picker.enqueue(LATE, { signal: given.signal }));
    for (const [name, priority] of [
      ['low', -1],
      ['high', 1],
    ] as const)
      void send(name, priority);
    await settle();
    given.abort(new Error('enough'));
    await expect(gone).rejects.toThrow('enough');
    for (let at = 0; at < 1500; at += 10) {
      clock.advanceTo(at);
      await settle();
    }
    expect(order).toEqual(['first', 'high', 'low']);
    await picker.enqueue(LATE);
    const late = expect(picker.enqueue(LATE)).rejects.toMatchObject({ code: 'queue-timeout' });
    clock.advanceTo(clock.now() + 1100);
    await late;
    picker.stop();
  });

  it('[Q14] lets a request wait for its endpoint with a promise, until it is placed or given up', async () => {
    const picker = createPicker({ seed: 1, clock: new SimulatedClock() });
    picker.addEndpoint({ id: 'a' });
    const long = { model: 'm', promptTokens: 20_000 };
    const first = await picker.enqueue(long);
    const second = picker.enqueue(long);
    const given = new AbortController();
    const third = picker.enqueue(long, { signal: given.signal });
    given.abort(new Error('enough'));
    await expect(third).rejects.toThrow('enough');
    first.firstToken();
    expect((await second).endpoint.id).toBe('a');
    await expect(picker.enqueue({ body: '{' })).rejects.toThrow('[invalid-request]');
    // `route` waits for nothing.
    expect(picker.route(long).endpoint.id).toBe('a');
  });

  it.each([
    ['for their endpoint', 'default', 20_000],
    ['for flow control', ONE_IN_FLIGHT, 10],
  ])(
    '[Q282] refuses the requests that wait %s when it is stopped',
    async (_, config, promptTokens) => {
      const picker = createPicker({ seed: 1, clock: new SimulatedClock(), config });
      picker.addEndpoint({ id: 'a' });
      await picker.enqueue({ model: 'm', promptTokens });
      const codes: unknown[] = [];
      for (let n = 0; n < 3; n++) {
        picker.enqueue({ model: 'm', promptTokens }).catch(({ code }) => codes.push(code));
      }
      await settle();
      expect(codes).toEqual([]);
      picker.stop();
      await settle();
      expect(codes).toEqual(['shutting-down', 'shutting-down', 'shutting-down']);
    },
  );

  it.each([
    ['a request that would wait for its endpoint', 'default', 20_000],
    ['a request that would wait for flow control', ONE_IN_FLIGHT, 10],
    ['a request that need not wait', 'round-robin', 10],
  ])('[Q285] refuses after its stop %s', async (_, config, promptTokens) => {
    const picker = createPicker({ seed: 1, clock: new SimulatedClock(), config });
    picker.addEndpoint({ id: 'a' });
    await picker.enqueue({ model: 'm', promptTokens });
    picker.stop();
    const late = { model: 'm', promptTokens };
    const refusal = { code: 'shutting-down' };
    await expect(picker.enqueue(late)).rejects.toMatchObject(refusal);
    const placement = { placed: vi.fn(), refused: vi.fn() };
    expect(() => picker.enqueueWith(late, placement)).toThrow('[shutting-down]');
    expect(placement.placed).not.toHaveBeenCalled();
    expect(placement.refused).not.toHaveBeenCalled();
    expect(() => picker.route(late)).toThrow('[shutting-down]');
  });
});
