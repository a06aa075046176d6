import { expect, it } from 'vitest';
import { EjectionBed, POLICIES, SERVERS } from '../../../test/support/ejection-bed.ts';

/** What a server costs before its scrapes are late. */
const FIRST_MS = 500;

it.each([1, 4])(
  '[V549] no request is sent to those of eight servers that crash under few requests, once their scrapes are late: %i',
  (count) => {
    for (let phaseMs = 0; phaseMs < 50; phaseMs += 10) {
      const bed = new EjectionBed({ policy: POLICIES['default'] ?? '', intervalMs: 50 });
      bed.run(3000 + phaseMs);
      const crashed = Array.from({ length: count }, (_, at) => (2 * at + 1) % SERVERS);
      for (const at of crashed) bed.set(at, 'refuses');
      const from = bed.clock.now();
      bed.run(20_000);
      const late = bed.sent.filter(({ at, failed }) => failed && at > from + FIRST_MS);
      expect(late.map(({ at, server }) => [server, at - from])).toEqual([]);
    }
  },
);
