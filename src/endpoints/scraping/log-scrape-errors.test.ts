import { describe, expect, it } from 'vitest';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { logScrapeErrors } from './log-scrape-errors.ts';
import { type ScrapeFailure, scrapeErrorsOf } from './scrape-errors.ts';

function setUp() {
  const clock = new SimulatedClock();
  const pool = new EndpointPool();
  const lines: string[] = [];
  const counted: ScrapeFailure[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    lines.push(
      [level, message, ...Object.entries(fields).map((pair) => pair.join('='))].join(' | '),
    );
  logScrapeErrors(pool, {
    log: { info: write('info'), warn: write('warn') },
    clock,
    onFailure: (failure) => counted.push(failure),
  });
  const add = (name: string): Endpoint => {
    const id = `default/${name}` as EndpointId;
    pool.upsert({ id, address: `${name}:80`, labels: new Map() });
    return pool.get(id) as Endpoint;
  };
  const errors = scrapeErrorsOf(pool);
  const fail = (endpoint: Endpoint, failure: ScrapeFailure, scraper: object = endpoint): void =>
    errors.failed(scraper, {
      endpoint,
      failure,
      reason: `why ${failure}`,
      inSuccession: 1,
      at: clock.wallTime(),
    });
  const over = (endpoint: Endpoint, scraper: object = endpoint): void =>
    errors.succeeded(scraper, endpoint.id, clock.wallTime());
  return { clock, pool, lines, counted, add, fail, over, errors };
}

describe('the log of failing scrapes', () => {
  it('[V43] has one line when they begin, one for another reason and one when they work again', async () => {
    const { clock, lines, counted, add, fail, over } = setUp();
    const a = add('a');
    for (let at = 0; at < 5000; at += 50) clock.setTimer(at, () => fail(a, 'unreachable'));
    await clock.run();
    const head = 'the metrics of an endpoint cannot be scraped; its load is unknown';
    const of = 'endpoint=default/a | address=a:80';
    expect(lines).toEqual([
      `warn | ${head} | ${of} | failure=unreachable | reason=why unreachable`,
    ]);
    fail(a, 'status');
    await clock.run();
    over(a);
    await clock.run();
    expect(lines.slice(1)).toEqual([
      `warn | ${head} | ${of} | failure=status | reason=why status`,
      `info | an endpoint is scraped again | ${of}`,
    ]);
    expect(counted).toHaveLength(101);
  });

  it('[V43] names the data source where another page than that of the metrics cannot be read', async () => {
    const { clock, lines, add, errors } = setUp();
    const endpoint = add('a');
    const error = { endpoint, failure: 'status', reason: '404', inSuccession: 1, at: 0 } as const;
    errors.failed(endpoint, { ...error, source: 'models-data-source' });
    await clock.run();
    expect(lines).toEqual([
      'warn | a page that a data source reads of an endpoint cannot be read | endpoint=default/a | address=a:80 | failure=status | reason=404 | source=models-data-source',
    ]);
  });

  it('has no line for an endpoint that is scraped again at once, or that leaves', async () => {
    const { clock, pool, lines, add, fail, over, errors } = setUp();
    const a = add('a');
    fail(a, 'unreachable');
    over(a);
    await clock.run();
    expect(lines).toEqual([]);
    fail(a, 'unreachable');
    await clock.run();
    pool.remove(a.id);
    errors.stopped(a, a.id);
    await clock.run();
    expect(lines).toHaveLength(1);
  });

  it('has at most one line a second for an endpoint, however often its scrapes change', async () => {
    const { clock, lines, add, fail, over } = setUp();
    const a = add('a');
    for (let at = 0; at < 10_000; at += 30) {
      clock.setTimer(at, () => (at % 60 === 0 ? fail(a, 'status') : over(a)));
    }
    await clock.run();
    expect(lines.length).toBeLessThanOrEqual(11);
  });

  it('has at most ten lines a second for all endpoints, and all of them in the end', async () => {
    const { clock, lines, add, fail } = setUp();
    for (let index = 0; index < 95; index++) fail(add(`s${index}`), 'unreachable');
    for (let second = 1; second <= 10; second++) {
      await clock.run(1000 * second);
      expect(lines.length).toBe(Math.min(95, 10 * second));
    }
  });

  it('[V391] has at most a hundred lines in a minute, and then one about the others', async () => {
    const { clock, lines, add, fail } = setUp();
    for (let index = 0; index < 130; index++) fail(add(`s${index}`), 'unreachable');
    await clock.run(60_900);
    expect(lines).toHaveLength(101);
    expect(lines.at(-1)).toBe(
      'warn | scrapes of more endpoints fail, or work again | endpoints=30 | failing=[object Object] | page=/debug/endpoints',
    );
    await clock.run(70_000);
    expect(lines).toHaveLength(131);
  });

  it('[V391] has no line about endpoints that have left before their turn', async () => {
    const { clock, pool, lines, add, fail, errors } = setUp();
    for (let index = 0; index < 5000; index++) {
      const endpoint = add(`s${index}`);
      fail(endpoint, 'unreachable');
      pool.remove(endpoint.id);
      errors.stopped(endpoint, endpoint.id);
    }
    await clock.run();
    expect(lines).toEqual([]);
  });

  it('[V43] shows since when scrapes fail or work, the last error, and how many endpoints fail', async () => {
    const { clock, add, fail, over, errors } = setUp();
    const [a, b] = [add('a'), add('b')];
    expect(errors.stateOf(a.id)).toBeUndefined();
    over(a);
    await clock.run();
    clock.advanceTo(1000);
    fail(a, 'unreachable');
    clock.advanceTo(2000);
    fail(a, 'status');
    fail(b, 'status');
    expect(errors.stateOf(a.id)).toMatchObject({
      error: { failure: 'status', at: 2000 },
      since: 1000,
    });
    const counts = { unreachable: 0, status: 2, 'too-large': 0, 'no-series': 0, 'bad-value': 0 };
    expect(Object.fromEntries(errors.failing())).toEqual(counts);
    clock.advanceTo(3000);
    over(a);
    expect(errors.stateOf(a.id)).toMatchObject({
      error: undefined,
      since: 3000,
      lastError: { failure: 'status', at: 2000 },
    });
    errors.stopped(b, b.id);
    expect(errors.failing().get('status')).toBe(0);
  });

  it('keeps the error of a scrape while another source of the same endpoint works', () => {
    const { add, fail, over, errors } = setUp();
    const a = add('a');
    const [one, other] = [{}, {}];
    fail(a, 'status', one);
    fail(a, 'no-series', other);
    over(a, one);
    expect(errors.of(a.id)?.failure).toBe('no-series');
    over(a, other);
    expect(errors.of(a.id)).toBeUndefined();
  });
});
