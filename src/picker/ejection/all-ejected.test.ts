import { describe, expect, it } from 'vitest';
import { EjectionBed } from '../../../test/support/ejection-bed.ts';

/** Any endpoint is chosen alike, whatever is known of it. */
const BY_CHANCE = `plugins: [{ type: by-label, parameters: { label: decodes, validValues: ['yes'] } }, { type: random-picker }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: by-label }, { pluginRef: random-picker }] }]
`;

const ANY = `plugins: [{ type: random-picker }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: random-picker }] }]
`;

/** Three servers decode, and all of them refuse until an ejected one works again. */
function afterOutage(servers: number): { readonly bed: EjectionBed; readonly up: number } {
  const labels = (at: number) => new Map([['decodes', at < 3 ? 'yes' : 'no']]);
  const bed = new EjectionBed({ policy: BY_CHANCE, servers, labels });
  bed.run(2000);
  for (const at of [0, 1, 2]) bed.set(at, 'refuses');
  bed.run(60_000);
  const ejected = [0, 1, 2].filter((at) => bed.isOut(at));
  expect(ejected.length).toBe(Math.min(3, servers - 1));
  const [first = 0] = ejected;
  // Its next trial is due in seconds.
  for (let n = 0; n < 2000 && bed.sent.at(-1)?.server !== first; n++) bed.run(5);
  bed.run(5);
  bed.set(first, 'works');
  // Until it has answered a scrape.
  bed.run(100);
  return { bed, up: first };
}

describe('where all endpoints that could serve a request fail', () => {
  it.each([
    ['are all ejected, beside others that cannot serve it', 6],
    ['are the whole pool, whose last one is not ejected', 3],
  ])('[V513] one that answers scrapes since gets the requests at once: they %s', (_, servers) => {
    const { bed, up } = afterOutage(servers);
    const from = bed.clock.now();
    bed.run(5000);
    const later = bed.sent.filter(({ at }) => at >= from);
    expect(later.length).toBe(1000);
    // The trials of the other two.
    expect(later.filter(({ failed }) => failed).length).toBeLessThanOrEqual(4);
    expect(bed.refused).toBe(0);
    // The one that was not ejected, if there is one.
    const next = [2, 1, 0].find((at) => at !== up && !bed.isOut(at)) ?? (up + 1) % 3;
    bed.run(10_000);
    expect(bed.isOut(up)).toBe(false);
    bed.set(next, 'works');
    bed.run(15_000);
    const backAt = bed.clock.now();
    bed.run(1000);
    const lately = bed.sent.filter(({ at }) => at >= backAt);
    expect(new Set(lately.map(({ server }) => server))).toEqual(new Set([up, next]));
  });

  it('[V513] all get requests while none answers scrapes, and all are back once they work', () => {
    const bed = new EjectionBed({
      policy: BY_CHANCE,
      servers: 6,
      labels: () => new Map([['decodes', 'yes']]),
    });
    bed.run(2000);
    for (let at = 0; at < 6; at++) bed.set(at, 'refuses');
    bed.run(10_000);
    expect(bed.refused).toBe(0);
    for (let at = 0; at < 6; at++) bed.set(at, 'works');
    bed.run(15_000);
    expect([0, 1, 2, 3, 4, 5].filter((at) => bed.isOut(at))).toEqual([]);
  });

  it('[V513] one that answers scrapes alone, and fails again, is no better than the others', () => {
    const labels = (at: number) => new Map([['decodes', at < 3 ? 'yes' : 'no']]);
    const bed = new EjectionBed({ policy: BY_CHANCE, servers: 6, labels });
    bed.run(2000);
    for (const at of [0, 1, 2]) bed.set(at, 'refuses');
    bed.run(20_000);
    // Its page can be read, and its requests fail.
    bed.set(2, 'breaks off');
    bed.run(100);
    const from = bed.clock.now();
    bed.set(0, 'works');
    bed.run(2000);
    const later = bed.sent.filter(({ at }) => at >= from + 1000);
    const served = later.filter(({ failed }) => !failed).length;
    expect(served / later.length).toBeGreaterThan(0.4);
  });

  it('[V513] the last endpoint that failed gets requests again when it works, though another stays down', () => {
    const bed = new EjectionBed({ policy: ANY, servers: 3 });
    bed.run(2000);
    for (const at of [0, 1, 2]) bed.set(at, 'refuses');
    bed.run(60_000);
    const ejected = [0, 1, 2].filter((at) => bed.isOut(at));
    expect(ejected).toHaveLength(2);
    const spared = [0, 1, 2].find((at) => !bed.isOut(at)) as number;
    const [first = 0] = ejected;
    bed.set(first, 'works');
    bed.run(60_000);
    expect(bed.isOut(first)).toBe(false);
    bed.set(spared, 'works');
    bed.run(60_000);
    const from = bed.clock.now();
    bed.run(5000);
    const later = bed.sent.filter(({ at }) => at >= from);
    expect(later.filter(({ server }) => server === spared).length).toBeGreaterThan(300);
  });

  it('[V513] the last endpoint that is not ejected gets the requests while none answers scrapes', () => {
    const bed = new EjectionBed({ policy: ANY, servers: 3 });
    bed.run(2000);
    for (const at of [0, 1, 2]) bed.set(at, 'refuses');
    bed.run(60_000);
    const spared = [0, 1, 2].find((at) => !bed.isOut(at)) as number;
    const from = bed.clock.now();
    bed.run(5000);
    const others = bed.sent.filter(({ at, server }) => at >= from && server !== spared);
    // The trials of the two that are ejected.
    expect(others.length).toBeLessThanOrEqual(4);
    expect(bed.refused).toBe(0);
  });
});
