import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { AccessRefusal } from './access.ts';
import { type Review, ReviewedTokens } from './reviewed-tokens.ts';

const FORBIDDEN: AccessRefusal = { status: 403, sentence: 'may not' };
const ALLOWED: Review = { refusal: undefined };

function setUp() {
  const clock = new SimulatedClock();
  const asked: string[] = [];
  const state = { away: false };
  const waiting: (() => void)[] = [];
  const { guard } = new ReviewedTokens({
    review: async (token) => {
      asked.push(token);
      if (state.away) throw new Error('the API server is away');
      if (token.startsWith('slow')) await new Promise<void>((resolve) => waiting.push(resolve));
      return token.startsWith('good') ? ALLOWED : { refusal: FORBIDDEN };
    },
    keyOf: (token) => `digest of ${token}`,
    clock,
  });
  const statusOf = async (token?: string): Promise<number> => (await guard(token))?.status ?? 200;
  return { clock, asked, state, waiting, statusOf };
}

describe('ReviewedTokens', () => {
  it('[V23] answers 401 without a token, and asks no authority', async () => {
    const { statusOf, asked } = setUp();
    expect([await statusOf(), asked]).toEqual([401, []]);
  });

  it('[V23] keeps a verdict for a minute where it allows, for half of one where it does not', async () => {
    const { statusOf, asked, clock } = setUp();
    expect([await statusOf('good'), await statusOf('bad')]).toEqual([200, 403]);
    clock.advanceTo(29_999);
    expect([await statusOf('good'), await statusOf('bad')]).toEqual([200, 403]);
    expect(asked).toEqual(['good', 'bad']);
    clock.advanceTo(30_000);
    expect([await statusOf('good'), await statusOf('bad')]).toEqual([200, 403]);
    expect(asked).toEqual(['good', 'bad', 'bad']);
    clock.advanceTo(60_000);
    expect(await statusOf('good')).toBe(200);
    expect(asked).toEqual(['good', 'bad', 'bad', 'good']);
  });

  it('[V23] lets readers in for five minutes while no verdict can be had, and no new one', async () => {
    const { statusOf, state, clock } = setUp();
    await statusOf('good');
    state.away = true;
    clock.advanceTo(299_999);
    expect([await statusOf('good'), await statusOf('good too')]).toEqual([200, 503]);
    clock.advanceTo(300_000);
    expect(await statusOf('good')).toBe(503);
    state.away = false;
    expect(await statusOf('good')).toBe(200);
  });

  it('asks once for a token that several requests bring at once', async () => {
    const { statusOf, asked, waiting } = setUp();
    const both = Promise.all([statusOf('slow'), statusOf('slow')]);
    for (const proceed of waiting) proceed();
    expect([await both, asked]).toEqual([[403, 403], ['slow']]);
  });

  it('[V24] asks about 16 tokens at once at most, and invented ones push out none that is allowed', async () => {
    const { statusOf, asked, waiting } = setUp();
    await statusOf('good');
    const first = Array.from({ length: 16 }, (_, n) => statusOf(`slow ${n}`));
    expect(await statusOf('slow 16')).toBe(429);
    expect(await statusOf('good')).toBe(200);
    for (const proceed of waiting) proceed();
    await Promise.all(first);
    for (let n = 0; n < 3000; n++) await statusOf(`invented ${n}`);
    const before = asked.length;
    expect([await statusOf('good'), asked.length]).toEqual([200, before]);
    expect([await statusOf('invented 0'), asked.length]).toEqual([403, before + 1]);
  });
});
