import { expect, it } from 'vitest';
import { planFrom } from '../src/catalogue/plan.ts';
import type { EndpointId } from '../src/framework/endpoint.ts';
import type { Outcome } from '../src/framework/observer.ts';
import type { RoutedRequest } from '../src/framework/routing.ts';
import { EndpointPicker } from '../src/picker/endpoint-picker.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { SimulatedClock } from '../src/runtime/simulated-clock.ts';
import { makeRequest } from './makers.ts';

const REQUESTS = 1_000_000;
const ENDPOINTS = 50;

it.each([1, 2])(
  'the ledger is back at exactly nothing after a million requests with kills, cancels, duplicate ends and restarts, seed %i',
  (seed) => {
    const clock = new SimulatedClock();
    const random = seededRandom(seed);
    const network = { get: () => Promise.reject(new Error('nobody there')) };
    const plan = planFrom('default');
    const picker = new EndpointPicker({ plan, runtime: { clock, random, network } });
    const upsert = (at: number): void => {
      const id = `e${at}` as EndpointId;
      picker.pool.upsert({ id, address: `10.0.0.${at}:8000`, labels: new Map() });
    };
    for (let at = 0; at < ENDPOINTS; at++) upsert(at);
    const open: RoutedRequest[] = [];
    const outcomes: readonly Outcome[] = ['completed', 'aborted', 'failed'];
    const endOne = (): void => {
      const [routed] = open.splice(Math.floor(random.next() * open.length), 1);
      if (routed === undefined) return;
      const end = (): void =>
        routed.done(outcomes[Math.floor(random.next() * 3)] ?? 'failed', {
          promptTokens: 100,
          completionTokens: 50,
          cachedTokens: 0,
        });
      if (random.next() < 0.7) routed.firstToken();
      if (random.next() < 0.1)
        routed.served(`10.0.0.${Math.floor(random.next() * ENDPOINTS)}:8000`);
      end();
      if (random.next() < 0.2) end();
      if (random.next() < 0.1) routed.firstToken();
    };
    for (let count = 0; count < REQUESTS; count++) {
      if (random.next() < 0.0005) {
        const at = Math.floor(random.next() * ENDPOINTS);
        picker.pool.remove(`e${at}` as EndpointId);
        if (random.next() < 0.5) upsert(at);
        else clock.setTimer(50, () => upsert(at));
      }
      const promptTokens = 1 + Math.floor(random.next() * 5000);
      const request = makeRequest({
        id: `r${count}`,
        promptTokens,
        streaming: random.next() < 0.8,
      });
      open.push(picker.route(request, { firstTokenSeen: true, endSeen: random.next() < 0.9 }));
      while (open.length > 300 * random.next()) endOne();
      if (count % 100 === 0) clock.setTimer(0, () => undefined);
      if (random.next() < 0.3) clock.step();
    }
    while (open.length > 0) endOne();
    while (clock.step(clock.now() + 100_000)) continue;
    for (const endpoint of picker.pool.snapshot()) {
      expect([endpoint.id, picker.ledger.load(endpoint)]).toEqual([
        endpoint.id,
        { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 },
      ]);
      expect(picker.ledger.models(endpoint).size).toBe(0);
    }
    picker.stop();
  },
);
