import { expect, it } from 'vitest';
import { envoyBinary } from '../../bench/support/stack.ts';
import { gatewayStorm } from '../support/storms/gateway-storm.ts';

const REQUESTS = 5000;
const binary = await envoyBinary();

it.skipIf(binary === undefined).each([1, 2])(
  '[V134] leaves nothing behind after 5,000 requests through real Envoys with faults of every kind, seed %i',
  { timeout: 20 * 60_000 },
  async (seed) => {
    const { drift, uncaught, statusAfter, answered, faults } = await gatewayStorm(seed, REQUESTS);
    expect(drift).toEqual([]);
    expect(uncaught).toEqual([]);
    expect(statusAfter).toBe(200);
    // It was a storm, and the picker has served in it.
    expect(answered).toBeGreaterThan(0.2 * REQUESTS);
    const kinds = [...faults.keys()].map((kind) => kind.split(':')[0]);
    expect(new Set(kinds)).toEqual(new Set(['client', 'server', 'operator', 'gateway']));
  },
);
