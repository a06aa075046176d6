import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  allInFlight,
  faultyPicker,
  profileOf,
} from '../../../test/support/plugins/faulty-plugins.ts';
import { CountingClock } from '../../../test/support/waiting-bed.ts';
import { serveCommand } from '../../commands/serve-command.ts';
import type { Observer } from '../../framework/observer.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { OpenReservations } from './open-reservations.ts';

const DEPLOY = join(import.meta.dirname, '../../../deploy');
const MAX_AGE_MS = 10_000;
const NOTHING = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

function setUp() {
  const clock = new SimulatedClock();
  const swept: number[] = [];
  const ends: string[] = [];
  const observer: Observer = {
    onDone: ({ request }, _at, outcome) => void ends.push(`${request.id} ${outcome}`),
  };
  const network = { get: () => Promise.reject(new Error('no network')) };
  const picker = faultyPicker(
    profileOf('active-request-scorer'),
    {},
    {
      runtime: { clock, random: seededRandom(1), network },
      subscribers: [observer],
      reservations: { maxAgeMs: MAX_AGE_MS, onExpired: (released) => swept.push(released) },
    },
  );
  const route = (id: string) => picker.route(makeRequest({ id }), { firstTokenVisible: true });
  return { clock, picker, route, swept, ends };
}

describe('a reservation whose end is never reported', () => {
  it('[V30] is released at the maximum age, and the sweep says how many it released', () => {
    const { clock, picker, route, swept, ends } = setUp();
    for (const id of ['a', 'b', 'c']) route(id);
    clock.advanceTo(4000);
    route('young');
    clock.advanceTo(MAX_AGE_MS - 1);
    expect([allInFlight(picker).requests, swept]).toEqual([4, []]);
    clock.advanceTo(MAX_AGE_MS);
    expect([allInFlight(picker).requests, swept]).toEqual([1, [3]]);
    expect(ends).toEqual(['a aborted', 'b aborted', 'c aborted']);
    clock.advanceTo(2 * MAX_AGE_MS);
    expect([allInFlight(picker), swept]).toEqual([NOTHING, [3, 1]]);
    expect(picker.reservations?.expired).toBe(4);
  });

  it('[V30] is released once, although its stream ends later', () => {
    const { clock, picker, route, ends } = setUp();
    const routed = route('a');
    clock.advanceTo(MAX_AGE_MS);
    routed.firstToken();
    routed.done('completed');
    expect([allInFlight(picker), ends]).toEqual([NOTHING, ['a aborted']]);
  });

  it('[V30] is released where its end is predicted for later than the maximum age', () => {
    const { clock, picker } = setUp();
    const request = makeRequest({ id: 'long', promptTokens: 50_000_000 });
    picker.route(request, { endVisible: false }).done('completed');
    clock.advanceTo(MAX_AGE_MS);
    expect(allInFlight(picker)).toEqual(NOTHING);
  });

  it('[V30] sets one timer for all, and none when nothing is left', () => {
    const { clock, route } = setUp();
    for (let n = 0; n < 1000; n++) route(`r${n}`).done('completed');
    let timers = 0;
    while (clock.step()) timers += 1;
    expect(timers).toBe(1);
  });

  it('[V542] leaves one timer where its release makes room for the next, and none after the end', () => {
    const clock = new CountingClock();
    const open = new OpenReservations({ clock, maxAgeMs: MAX_AGE_MS });
    const add = (): void => {
      const reservation = { at: clock.now(), older: undefined, newer: undefined, expire: add };
      open.add(reservation);
    };
    add();
    for (let n = 1; n <= 5; n++) {
      clock.advanceTo(n * MAX_AGE_MS);
      expect(clock.timers).toBe(1);
    }
    open.stop();
    expect(clock.timers).toBe(0);
  });

  it('[V30] sets no timer that a capture would number', () => {
    const { clock, picker, route } = setUp();
    for (let n = 0; n < 5; n++) {
      route(`r${n}`);
      clock.advanceTo((n + 1) * MAX_AGE_MS);
    }
    expect(picker.clock.timers).toBe(0);
  });

  it('[V30] is kept by default for longer than any time limit in deploy/', () => {
    const option = serveCommand().options.find(({ long }) => long === '--max-reservation-age-ms');
    const files = readdirSync(DEPLOY).filter((name) => name.endsWith('.yaml'));
    const limitsMs = files.flatMap((name) =>
      [...readFileSync(join(DEPLOY, name), 'utf8').matchAll(/timeout: (\d+)s/g)].map(
        ([, seconds]) => Number(seconds) * 1000,
      ),
    );
    expect(limitsMs.length).toBeGreaterThan(10);
    expect(option?.defaultValue).toBeGreaterThan(Math.max(...limitsMs));
  });
});
