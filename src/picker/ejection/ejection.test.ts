import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import {
  EjectionBed,
  ejectedAfter,
  type Fault,
  POLICIES,
  SERVERS,
} from '../../../test/support/ejection-bed.ts';
import { inLongRuns } from '../../../test/support/long-runs.ts';
import { DEFAULT_EJECTION } from './ejection-plan.ts';

const FAULTS: readonly Fault[] = ['refuses', 'hangs', 'stuck', 'fails-30-percent', 'breaks off'];
/** Each fault under one of the policies; in long runs under all of them. */
const CASES = FAULTS.flatMap((fault, at) => {
  const [policy = '', ...others] = inTurn(Object.keys(POLICIES), at);
  return [policy, ...inLongRuns(...others)].map((name) => [fault, name] as const);
});
/** Each policy with and without streaming; in other runs than long ones with one of these. */
const WAYS = Object.keys(POLICIES).flatMap((name, at) => {
  const [streaming, other] = inTurn([true, false] as const, at);
  return [streaming, ...inLongRuns(other)].map((each) => [name, each === true] as const);
});

/** The values, of which another one is the first at each place. */
function inTurn<Value>(values: readonly Value[], at: number): readonly Value[] {
  const first = at % values.length;
  return [...values.slice(first), ...values.slice(0, first)];
}

/** A configuration that names so many endpoints for each request. */
const policyOf = (
  choices: number,
): string => `plugins: [{ type: queue-scorer }, { type: max-score-picker, parameters: { maxNumOfEndpoints: ${choices} } }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: queue-scorer }, { pluginRef: max-score-picker }] }]
`;

describe('an endpoint that fails', () => {
  it.each(CASES)(
    '[V130][V430] is out of the candidates within 2 s, costs at most 0.1 percent of requests after that, and is back within 10 s: one that %s, policy %s',
    (fault, policy) => {
      const bed = new EjectionBed({ policy: POLICIES[policy] ?? '' });
      bed.run(5100);
      expect(bed.changes).toEqual([]);
      const from = bed.clock.now();
      bed.set(3, fault);
      bed.run(120_000);
      const afterMs = ejectedAfter(bed, 3, from);
      expect(afterMs).toBeLessThanOrEqual(2000);
      const later = bed.sent.filter(({ at }) => at > from + afterMs);
      const share = later.filter(({ failed }) => failed).length / later.length;
      expect(share).toBeLessThanOrEqual(0.001);
      bed.set(3, 'works');
      bed.run(10_000);
      expect(bed.isOut(3)).toBe(false);
      expect(bed.refused).toBe(0);
    },
  );

  it.each([true, false])(
    '[V290] gets no trial right after one whose client left, so that impatient clients cost at most 0.1 percent of requests, streaming %s',
    (streaming) => {
      const bed = new EjectionBed({ streaming, patienceMs: 800 });
      bed.run(5000);
      bed.set(3, 'refuses');
      bed.run(2000);
      expect(bed.isOut(3)).toBe(true);
      bed.set(3, 'stuck');
      bed.run(10_000);
      const from = bed.clock.now();
      bed.run(60_000);
      const later = bed.sent.filter(({ at }) => at >= from);
      expect(later.filter(({ failed }) => failed).length).toBeLessThanOrEqual(0.001 * later.length);
      bed.set(3, 'works');
      bed.run(10_000);
      expect(bed.isOut(3)).toBe(false);
    },
  );

  it.each([1, 3])(
    '[Q281] gets trials with fallbacks that work, as many as other requests: %i choices',
    (choices) => {
      const bed = new EjectionBed({ policy: policyOf(choices) });
      bed.run(5000);
      bed.set(3, 'stuck');
      bed.run(4000);
      expect(bed.isOut(3)).toBe(true);
      const from = bed.sent.length;
      bed.run(10_000);
      const later = bed.sent.slice(from);
      const trials = later.filter(({ server }) => server === 3);
      expect(trials.length).toBeGreaterThan(0);
      for (const { destinations } of later) expect(new Set(destinations).size).toBe(choices);
      for (const { server, destinations } of later) {
        expect(destinations.indexOf('10.0.0.3:80')).toBe(server === 3 ? 0 : -1);
      }
    },
  );

  it('[Q281] [Q247] gets a trial with the same fallbacks where it is decided again from a capture', () => {
    const bed = new EjectionBed({ policy: policyOf(3) });
    bed.run(5000);
    bed.set(3, 'stuck');
    bed.run(4000);
    bed.clock.advanceTo(bed.clock.now() + 120_000);
    const cycle = bed.picker.decideOnly(makeRequest());
    expect(cycle.candidates.map(({ id }) => id)).toEqual(['e3']);
    const { destinations } = bed.picker.reserveOnly(cycle, cycle.decision);
    expect(new Set(destinations).size).toBe(3);
  });

  it.each(['fails-30-percent', 'breaks off'] as const)(
    '[V130][V430] does not come back for trials that it passes by chance, or begins well: one that %s',
    (fault) => {
      const bed = new EjectionBed();
      bed.run(5000);
      bed.set(3, fault);
      bed.run(300_000);
      expect(bed.changes.filter((change) => change.endsWith('back')).length).toBeLessThanOrEqual(1);
    },
  );

  it('[V131] is not ejected where all fail alike: then the requests are to blame', () => {
    const bed = new EjectionBed();
    for (let at = 0; at < SERVERS; at++) bed.set(at, 'fails-30-percent');
    bed.run(30_000);
    const longest = bed.changes.filter((change) => !change.endsWith('back')).length;
    // At the beginning little is known of the others.
    expect(longest).toBeLessThanOrEqual(2);
    bed.run(20_000);
    expect(bed.changes.filter((change) => Number(change.split(' ')[0]) > 30_000)).toEqual([]);
  });

  it('[V131] stays a candidate where it is the last one, and its requests are sent to it', () => {
    const bed = new EjectionBed({ servers: 3 });
    bed.run(2000);
    for (let at = 0; at < 3; at++) bed.set(at, 'refuses');
    bed.run(20_000);
    expect([0, 1, 2].filter((at) => bed.isOut(at)).length).toBeLessThan(3);
    expect(bed.refused).toBe(0);
    for (let at = 0; at < 3; at++) bed.set(at, 'works');
    bed.run(15_000);
    expect([0, 1, 2].filter((at) => bed.isOut(at))).toEqual([]);
  });

  it('[V131] takes half the pool out where half the pool crashes', () => {
    const bed = new EjectionBed();
    bed.run(5000);
    for (const at of [0, 2, 4, 6]) bed.set(at, 'refuses');
    bed.run(1000);
    const from = bed.clock.now();
    bed.run(2000);
    // One trial each at the most.
    expect(bed.sent.filter(({ at, failed }) => at >= from && failed).length).toBeLessThanOrEqual(4);
  });

  it('[V131] serves what only it may serve', () => {
    const policy = `plugins: [{ type: by-label, parameters: { label: only, validValues: ['yes'] } }, { type: queue-scorer }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: by-label }, { pluginRef: queue-scorer }] }]
`;
    const bed = new EjectionBed({
      policy,
      labels: (at) => new Map([['only', at === 0 ? 'yes' : 'no']]),
    });
    bed.run(1000);
    bed.set(0, 'refuses');
    bed.run(5000);
    expect(bed.refused).toBe(0);
    expect(new Set(bed.sent.map(({ server }) => server))).toEqual(new Set([0]));
  });

  it('[V130] is not one whose first tokens are slow all over the pool, which says nothing about one of them', () => {
    const all = new EjectionBed();
    for (let at = 0; at < SERVERS; at++) all.set(at, 'slow');
    all.run(60_000);
    expect(all.changes).toEqual([]);
  });

  it('[V130] is ejected where the proxy could not reach it and used a fallback', () => {
    const bed = new EjectionBed();
    bed.run(2000);
    bed.clock.advanceTo(3000);
    const request = (n: number) => makeRequest({ id: `x${n}` });
    for (let n = 0; n < 500 && bed.changes.length === 0; n++) {
      const routed = bed.picker.route(request(n), { firstTokenVisible: true });
      const isThird = routed.endpoint.id === 'e3';
      if (isThird) routed.served('10.0.0.4:80');
      routed.firstToken();
      routed.done('completed');
    }
    expect(bed.changes).toEqual(['3000 e3 not-reached']);
    expect(bed.isOut(4)).toBe(false);
  });

  it.each(WAYS)(
    '[V143] costs at most 0.1 percent of the requests of half a minute where it hangs, and is back with its first scrape: policy %s, streaming %s',
    (name, streaming) => {
      const bed = new EjectionBed({ policy: POLICIES[name] ?? '', streaming });
      bed.run(5000);
      const from = bed.clock.now();
      bed.set(3, 'hangs');
      bed.run(30_000);
      const later = bed.sent.filter(({ at }) => at > from);
      expect(ejectedAfter(bed, 3, from)).toBeLessThanOrEqual(700);
      expect(later.filter(({ failed }) => failed).length).toBeLessThanOrEqual(0.001 * later.length);
      bed.set(3, 'works');
      bed.run(200);
      expect(bed.isOut(3)).toBe(false);
      expect(bed.changes.map((change) => change.replace(/^\S+ /, ''))).toEqual([
        'e3 silent',
        'e3 back',
      ]);
    },
  );

  it.each(WAYS)(
    '[V150] costs at most 0.1 percent of the requests of half a minute, also where it ends what is under way: policy %s, streaming %s',
    (name, streaming) => {
      const bed = new EjectionBed({ policy: POLICIES[name] ?? '', streaming });
      bed.run(5000);
      const from = bed.clock.now();
      bed.set(3, 'takes nothing new');
      bed.run(30_000);
      const later = bed.sent.filter(({ at }) => at > from);
      expect(later.filter(({ failed }) => failed).length).toBeLessThanOrEqual(0.001 * later.length);
      bed.set(3, 'works');
      bed.run(200);
      const lastAt = bed.sent.findLast(({ server }) => server === 3)?.at ?? 0;
      expect(lastAt).toBeGreaterThan(from + 30_000);
    },
  );

  it.each(Object.keys(POLICIES))(
    '[V150] gets requests as before where it answers them, but no scrapes: policy %s',
    (name) => {
      const bed = new EjectionBed({ policy: POLICIES[name] ?? '' });
      bed.run(5000);
      const from = bed.clock.now();
      bed.set(3, 'no-metrics');
      bed.run(1500);
      const later = bed.sent.filter(({ at, server }) => at > from + 200 && server === 3);
      const fairShare = (200 * 1.3) / SERVERS;
      expect(later.length).toBeGreaterThan(fairShare / 2);
    },
  );

  it.each(WAYS)(
    '[V151] is not one of a pool that has too much to do, whose scrapes and first tokens are late: policy %s, streaming %s',
    (name, streaming) => {
      const bed = new EjectionBed({ policy: POLICIES[name] ?? '', streaming });
      bed.run(5000);
      for (let at = 0; at < SERVERS; at++) bed.set(at, 'has too much to do');
      bed.run(20_000);
      expect(bed.changes).toEqual([]);
      const shares = Array.from(
        { length: SERVERS },
        (_, at) => bed.sent.filter(({ server }) => server === at).length / bed.sent.length,
      );
      for (const share of shares) expect(share).toBeGreaterThan(0.5 / SERVERS);
    },
  );

  it('[V143] is not silent where it answers requests or scrapes', () => {
    const bed = new EjectionBed();
    bed.set(3, 'slow, seldom scraped');
    // Until its rhythm is known.
    bed.run(5000);
    bed.changes.length = 0;
    bed.set(1, 'no-metrics');
    bed.set(2, 'slow');
    bed.run(60_000);
    expect(bed.changes.filter((change) => change.endsWith('silent'))).toEqual([]);
  });

  it('[V143] is not ejected where the whole pool is silent, or the picker has stood still', () => {
    const all = new EjectionBed();
    all.run(2000);
    for (let at = 0; at < SERVERS; at++) all.set(at, 'hangs');
    all.run(1000);
    expect(all.changes).toEqual([]);
    const stopped = new EjectionBed();
    stopped.run(2000);
    stopped.clock.advanceTo(stopped.clock.now() + 3000);
    stopped.run(2000);
    expect(stopped.changes).toEqual([]);
  });

  it('[V132] is a candidate as before where ejection is not enabled', () => {
    const bed = new EjectionBed({ ejection: { ...DEFAULT_EJECTION, enabled: false } });
    bed.set(3, 'refuses');
    bed.run(5000);
    expect(bed.changes).toEqual([]);
  });
});
