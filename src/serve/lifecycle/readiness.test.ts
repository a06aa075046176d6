import { describe, expect, it } from 'vitest';
import { scrapeErrorsOf } from '../../endpoints/scraping/scrape-errors.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { type ReadinessParts, readiness } from './readiness.ts';

const NOW = 10_000;

function poolOf(fresh: number, failing: number): EndpointPool {
  const pool = new EndpointPool();
  for (let index = 0; index < fresh + failing; index++) {
    const id = `e${index}` as EndpointId;
    pool.upsert({ id, address: `10.0.0.${index}:80`, labels: new Map() });
    if (index < fresh) {
      pool.observe(id, {
        waitingQueueSize: 0,
        runningRequests: 0,
        kvCacheUsage: 0,
        sampledAt: NOW,
      });
    } else {
      const endpoint = pool.get(id) as Endpoint;
      const error = {
        endpoint,
        failure: 'unreachable',
        reason: 'x',
        inSuccession: 1,
        at: 0,
      } as const;
      scrapeErrorsOf(pool).failed({}, error);
    }
  }
  return pool;
}

function stateOf(pool: EndpointPool, more: Partial<ReadinessParts> = {}) {
  const parts = {
    picker: { pool, replacement: () => undefined, ejector: { ejected: () => undefined } },
    readyMinFresh: 0,
    reload: undefined,
    discovery: undefined,
    kubernetes: undefined,
    election: undefined,
    ...more,
  };
  const { ok, state, reasons, detail } = readiness(parts, NOW);
  return { ok, state, reasons, detail };
}

describe('readiness', () => {
  it('[V44] is ready while every endpoint has a fresh sample, and not without endpoints', () => {
    expect(stateOf(poolOf(8, 0))).toMatchObject({ ok: true, state: 'ready', reasons: [] });
    expect(stateOf(poolOf(0, 0))).toMatchObject({
      ok: false,
      state: 'not ready',
      reasons: ['there are no endpoints'],
    });
  });

  it('[O291] says why there are no endpoints, where the source of the pool knows', () => {
    const pool = poolOf(0, 0);
    pool.filledBy({ whyEmpty: 'none of 3 pods can serve' });
    expect(stateOf(pool).reasons).toEqual(['there are no endpoints: none of 3 pods can serve']);
  });

  it('[O508] says once that the endpoints file is refused where there are no endpoints for it', () => {
    const pool = poolOf(0, 0);
    pool.filledBy({ whyEmpty: 'the endpoints file is refused' });
    const file = { lastError: () => 'line 3 is no YAML' };
    const discovery = { file, names: { names: () => [] } };
    expect(stateOf(pool, { discovery })).toMatchObject({
      reasons: ['there are no endpoints: the endpoints file is refused'],
    });
  });

  it('[V44] is degraded while endpoints are ejected, and while the scheduler in charge is gone', () => {
    const pool = poolOf(2, 0);
    const until = { reason: 'not-reached', since: 0, until: 1 } as const;
    const picker = {
      pool,
      ejector: { ejected: ({ id }: Endpoint) => (id === 'e1' ? until : undefined) },
      replacement: () =>
        ({
          name: 'mine',
          state: 'gone',
          cause: 'refused',
          decided: 0,
          declined: new Map(),
        }) as const,
    };
    expect(stateOf(pool, { picker })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: [
        '1 of 2 endpoints is ejected because it fails',
        'the scheduler mine is gone (refused): the profiles decide',
      ],
    });
  });

  it('[V79] is degraded while the event loop is late', () => {
    const process = { trouble: () => 'the event loop is 150 ms late' };
    expect(stateOf(poolOf(1, 0), { process })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: ['the event loop is 150 ms late'],
    });
  });

  it.each([
    [7, 1],
    [0, 8],
  ])(
    '[V44] is degraded and says numbers with %i fresh and %i failing endpoints',
    (fresh, failing) => {
      expect(stateOf(poolOf(fresh, failing))).toMatchObject({
        ok: true,
        state: 'degraded',
        reasons: [`${fresh} of 8 endpoints have a fresh sample`],
        detail: {
          endpoints: 8,
          freshEndpoints: fresh,
          failingEndpoints: { unreachable: failing },
        },
      });
    },
  );

  it('[O502] marks thousands of a large pool', () => {
    expect(stateOf(poolOf(2, 998)).reasons).toEqual(['2 of 1,000 endpoints have a fresh sample']);
  });

  it('[D547] is ready without samples where nothing looks for them, and degraded once something has', () => {
    const pool = new EndpointPool();
    const [first, second] = ['a', 'b'].map((name) => name as EndpointId);
    for (const id of [first, second]) {
      if (id !== undefined) pool.upsert({ id, address: '10.0.0.1:80', labels: new Map() });
    }
    expect(stateOf(pool)).toMatchObject({ ok: true, state: 'ready', reasons: [] });
    expect(stateOf(pool, { readyMinFresh: 1 })).toMatchObject({ ok: false });
    const sample = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0, sampledAt: 0 };
    if (first !== undefined) pool.observe(first, sample);
    expect(stateOf(pool)).toMatchObject({
      state: 'degraded',
      reasons: ['0 of 2 endpoints have a fresh sample'],
    });
  });

  it('[V44] is not ready with fewer fresh endpoints than --ready-min-fresh', () => {
    const few = stateOf(poolOf(1, 7), { readyMinFresh: 2 });
    expect(few).toMatchObject({ ok: false, state: 'not ready' });
    expect(few.reasons).toContain('1 endpoint has a fresh sample; --ready-min-fresh is 2');
    expect(stateOf(poolOf(2, 6), { readyMinFresh: 2 })).toMatchObject({ ok: true });
  });

  it('[O437] is degraded while there is no connection to the other replicas', () => {
    const trouble = 'no connection to NATS: this picker decides without the other replicas';
    expect(stateOf(poolOf(1, 0), { replica: { trouble } })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: [trouble],
      // [O512] The doctor reads it there.
      detail: { replicaTrouble: trouble },
    });
    const connected = { replica: { trouble: undefined } };
    expect(stateOf(poolOf(1, 0), connected)).toMatchObject({ state: 'ready' });
  });

  it('[V570] is degraded while the capture cannot be written', () => {
    const trouble = 'the capture cannot be written';
    expect(stateOf(poolOf(1, 0), { recording: { trouble } })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: [trouble],
    });
    const written = { recording: { trouble: undefined } };
    expect(stateOf(poolOf(1, 0), written)).toMatchObject({ state: 'ready' });
  });

  it('[V44] [V488] [V495] is degraded while a file is refused or a certificate has expired, and not ready while another picker leads', () => {
    const refused = { lastError: () => 'line 3 is no YAML', invalidity: () => undefined };
    const bad = { name: 'nosuch', addresses: [], error: 'ENOTFOUND', since: 0 };
    const names = [bad, { ...bad, name: 'good', error: undefined }];
    const discovery = { file: refused, names: { names: () => names } };
    expect(stateOf(poolOf(1, 0), { discovery, reload: refused })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: [
        '1 of 2 host names cannot be resolved',
        'the endpoints file is refused',
        'the configuration file is refused',
      ],
      detail: { hostNameErrors: { nosuch: 'ENOTFOUND' } },
    });
    expect(stateOf(poolOf(1, 0), { tls: refused, metricsTls: refused })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: [
        'the certificate of the ext_proc port is refused',
        'the certificate of the metrics port is refused',
      ],
      detail: { certificateError: 'line 3 is no YAML' },
    });
    const expired = { lastError: () => undefined, invalidity: () => 'has expired' };
    expect(stateOf(poolOf(1, 0), { tls: expired, metricsTls: expired })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: [
        'the certificate of the ext_proc port has expired',
        'the certificate of the metrics port has expired',
      ],
    });
    const election = { leading: false, holder: 'other', trouble: undefined };
    expect(stateOf(poolOf(1, 0), { election })).toMatchObject({
      ok: false,
      reasons: ['another picker leads'],
    });
  });

  it('[V566] is degraded while a file for connections to other servers is refused, and says since when and why', () => {
    const refused = { paths: ['/a/ca.pem'], reason: 'it is cut off', sinceMs: 0 };
    expect(stateOf(poolOf(1, 0), { tlsFiles: { refused: () => [refused] } })).toMatchObject({
      ok: true,
      state: 'degraded',
      reasons: ['/a/ca.pem is refused for connections by TLS'],
      detail: {
        outgoingTlsErrors: [
          { paths: ['/a/ca.pem'], since: '1970-01-01T00:00:00.000Z', reason: 'it is cut off' },
        ],
      },
    });
  });
});
