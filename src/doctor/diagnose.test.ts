import { describe, expect, it } from 'vitest';
import { type AccessNeed, checkAccess } from './check-access.ts';
import { aheadBy, checkClocks } from './check-clocks.ts';
import { checkEnvoyState } from './check-envoy-state.ts';
import { checkPicker, type DescribedEndpoint } from './check-picker.ts';
import { diagnose } from './diagnose.ts';
import { readSetup } from './envoy-setup.ts';
import { type Finding, findingsText } from './finding.ts';

const idsOf = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ severity, id }) => `${severity} ${id}`);

const endpoint = (more: Partial<DescribedEndpoint>): DescribedEndpoint => ({
  id: 'pod',
  address: '10.0.0.1:8000',
  metricsAgeMs: 20,
  ejected: false,
  scrapes: { state: 'working' },
  ...more,
});
const READY = { status: 200, text: 'ok' };

describe('[O365] a clock elsewhere', () => {
  it.each([
    ['within a slow answer', 12_000, 10_000, 19_000, 0],
    ['within the second of the answer', 10_000, 10_900, 10_950, 0],
    ['ahead', 40_000, 10_000, 10_100, 29_900],
    ['behind', 5000, 10_000, 10_100, -4000],
  ])('is off by what the time of the answer cannot explain: %s', (_, date, from, until, ahead) => {
    expect(aheadBy(date, from, until)).toBe(ahead);
  });
});

describe('[O53] [O529] what the doctor finds in a running set-up', () => {
  it('names endpoints whose metrics were never read or are old, and ejected ones, with the reason', () => {
    const { metricsAgeMs: _age, ...never } = endpoint({
      scrapes: { state: 'failing', lastError: { failure: 'unreachable', reason: 'ECONNREFUSED' } },
    });
    const findings = checkPicker({
      ready: READY,
      endpoints: [
        never,
        endpoint({ metricsAgeMs: 5000 }),
        endpoint({ ejected: { reason: 'trial-failed', why: 'a trial failed', since: 'noon' } }),
        endpoint({}),
      ],
    });
    expect(idsOf(findings)).toEqual([
      'error metrics-unreachable',
      'warning metrics-old',
      'warning endpoint-ejected',
    ]);
    expect(findings[0]?.what).toContain('10.0.0.1:8000 (unreachable: ECONNREFUSED)');
    expect(findings[1]?.what).toContain('5.0 s old');
    expect(findings[2]?.what).toContain('(a trial failed, since noon)');
  });

  it('[O271] calls a pool of which nothing can be reached an error, with the cause of each', () => {
    const reason = `connect ECONNREFUSED ${'x'.repeat(1000)}`;
    const lost = Array.from({ length: 12 }, (_, at) =>
      endpoint({
        address: `10.0.0.${at}:8000`,
        metricsAgeMs: 9000,
        scrapes: { state: 'failing', lastError: { failure: 'unreachable', reason } },
      }),
    );
    const findings = checkPicker({ ready: READY, endpoints: lost });
    expect(idsOf(findings)).toEqual(['error pool-unreachable']);
    expect(findings[0]?.where).toBe('12 of 12 endpoints');
    expect(findings[0]?.what).toContain('10.0.0.9:8000 (9.0 s old, unreachable: connect ECONN');
    expect(findings[0]?.what).toMatch(/ and 2 more\.$/);
    expect(findings[0]?.what.length).toBeLessThan(5000);
    // [O502] Thousands are marked.
    const large = Array.from({ length: 1200 }, () => lost[0] ?? endpoint({}));
    const [many] = checkPicker({ ready: READY, endpoints: [...large, endpoint({})] });
    expect(many?.where).toBe('1,200 of 1,201 endpoints');
    expect(many?.what).toMatch(/ and 1,197 more\.$/);
    // One that answers is enough, and so are metrics that are only read seldom.
    const rest = checkPicker({ ready: READY, endpoints: [...lost, endpoint({})] });
    expect(idsOf(rest)).toEqual(['warning metrics-old']);
    const seldom = checkPicker({ ready: READY, endpoints: [endpoint({ metricsAgeMs: 9000 })] });
    expect(idsOf(seldom)).toEqual(['warning metrics-old']);
  });

  it('[O276] says one thing of a pool that was never reached, and not that of servers that answer', () => {
    const { metricsAgeMs: _age, ...unseen } = endpoint({});
    const failing = (failure: string): DescribedEndpoint => ({
      ...unseen,
      scrapes: { state: 'failing', lastError: { failure, reason: 'no answer' } },
    });
    const never = checkPicker({ ready: READY, endpoints: [failing('unreachable')] });
    expect(idsOf(never)).toEqual(['error pool-unreachable']);
    expect(never[0]?.what).toContain('10.0.0.1:8000 (unreachable: no answer)');

    const refused = checkPicker({ ready: READY, endpoints: [failing('status')] });
    expect(idsOf(refused)).toEqual(['error metrics-unreachable']);
    // A picker that has just started has scraped nothing yet.
    const waiting = { ...unseen, scrapes: { state: 'waiting' } };
    const fresh = checkPicker({ ready: READY, endpoints: [waiting] });
    expect(idsOf(fresh)).toEqual(['error metrics-unreachable']);
  });

  it('says that a picker is not ready, and that its pool is empty', () => {
    const ready = { status: 503, text: 'no endpoints' };
    expect(idsOf(checkPicker({ ready, endpoints: [] }))).toEqual([
      'error picker-not-ready',
      'error no-endpoints',
    ]);
  });

  it('[O517] says once that a pool is empty where the picker says why', () => {
    const text = JSON.stringify({ reasons: ['there are no endpoints: no such InferencePool'] });
    const found = checkPicker({ ready: { status: 503, text }, endpoints: [] });
    expect(idsOf(found)).toEqual(['error picker-not-ready']);
    expect(found[0]?.what).toContain('no such InferencePool');
  });

  it('reads counters and health of Envoy', () => {
    const stats = [
      { name: 'cluster.ext_proc.membership_total', value: 2 },
      { name: 'cluster.ext_proc.membership_healthy', value: 0 },
      { name: 'cluster.picked.upstream_rq_pending_overflow', value: 7 },
      { name: 'http.inference.ext_proc.message_timeouts', value: 3 },
      { name: 'http.inference.downstream_rq_too_large', value: 0 },
      { name: 'http.inference.ext_proc.rejected_header_mutations', value: 2 },
      { name: 'http.inference.ext_proc.streams_failed', value: 5 },
      { name: 'cluster.ext_proc.upstream_rq_retry_overflow', value: 47 },
    ];
    const found = checkEnvoyState({ info: { state: 'DRAINING' }, stats: { stats }, certs: {} }, [
      'ext_proc',
    ]);
    expect(idsOf(found)).toEqual([
      'warning envoy-not-live',
      'error picker-down',
      'warning circuit-breaker-opened',
      'warning picker-answered-late',
      'warning pick-refused',
      'warning picker-failed',
      'warning retry-limit-reached',
    ]);
  });

  it('compares clocks, within the second to which HTTP cuts them', () => {
    const clocks = [
      { where: 'a', aheadMs: 900 },
      { where: 'b', aheadMs: -61_000 },
    ];
    expect(checkClocks(clocks).map(({ what }) => what)).toEqual([
      expect.stringContaining('61.0 s behind'),
    ]);
  });

  it('asks for each right, and gives the rule that grants it', async () => {
    const may = ({ resource, verb }: AccessNeed): Promise<boolean> =>
      Promise.resolve(resource !== 'pods' || verb === 'list');
    const [finding, ...others] = await checkAccess({ namespace: 'ns', serviceAccount: 'sa' }, may);
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ severity: 'error', id: 'missing-right' });
    expect(finding?.what).toContain('may not watch pods');
    expect(finding?.lines?.join('\n')).toContain('resources: [pods], verbs: [list, watch]');
  });
});

describe('[O51] findings', () => {
  const duration = (timeout: string): unknown => ({
    configs: [
      {
        static_listeners: [
          {
            listener: {
              name: 'l',
              filter_chains: [
                {
                  filters: [
                    {
                      typed_config: {
                        '@type': 'x/HttpConnectionManager',
                        http_filters: [
                          {
                            name: 'picker',
                            disabled: true,
                            typed_config: { '@type': 'x/ext_proc.v3.ExternalProcessor' },
                          },
                        ],
                        rds: { route_config_name: 'r' },
                      },
                    },
                  ],
                },
              ],
            },
          },
        ],
      },
      {
        dynamic_route_configs: [
          {
            route_config: {
              name: 'r',
              virtual_hosts: [
                {
                  name: 'h',
                  routes: [
                    { route: { cluster: 'other' } },
                    { route: { cluster: 'a', timeout }, typed_per_filter_config: { picker: {} } },
                    { route: { cluster: 'b', timeout }, typed_per_filter_config: { picker: {} } },
                  ],
                },
              ],
            },
          },
        ],
      },
    ],
  });
  const state = { info: {}, stats: {}, certs: {} };

  it('are about routes from xDS where the filter is on only, once for all routes', () => {
    const findings = diagnose({
      envoys: [{ at: 'a:1', setup: readSetup(duration('10s')), ...state }],
      clocks: [],
      earlyPickBytes: 128 * 1024,
      nowMs: 0,
    });
    const timeouts = findings.filter(({ id }) => id === 'route-timeout');
    const where = 'route h[1] of listener l; route h[2] of listener l';
    expect(timeouts.map((each) => each.where)).toEqual([where]);
    expect(idsOf(findings)).not.toContain('error destination-not-read');
  });

  it('begin with the errors, and end with their number and what was looked at', () => {
    const warning = {
      severity: 'warning',
      id: 'w',
      where: 'here',
      what: 'This.',
      mend: 'Do that.',
    } as const;
    const error = {
      severity: 'error',
      id: 'e',
      where: 'there',
      what: 'That.',
      lines: ['a: 1'],
    } as const;
    expect(findingsText([warning, error, warning], ['Envoy'])).toBe(
      `ERROR e: there
  That.
  it should have:
    a: 1

WARNING w: here
  This.
  Do that.

WARNING w: here
  This.
  Do that.

looked at Envoy: 1 error, 2 warnings
`,
    );
  });

  it('say where no route asks a picker', () => {
    const findings = diagnose({
      envoys: [{ at: 'a:1', setup: readSetup({ configs: [] }), ...state }],
      clocks: [],
      earlyPickBytes: 128 * 1024,
      nowMs: 0,
    });
    expect(idsOf(findings)).toEqual(['error no-ext-proc']);
  });

  it('[O364] name the Envoy and the picker where there are several, and what they share once', () => {
    const setup = readSetup({ configs: [] });
    const late = endpoint({ metricsAgeMs: 5000 });
    const findings = diagnose({
      envoys: ['a:1', 'b:1'].map((at) => ({ at, setup, ...state })),
      pickers: [
        { at: 'p:1', ready: READY, endpoints: [endpoint({})] },
        { at: 'q:1', ready: READY, endpoints: [endpoint({}), late] },
      ],
      clocks: [],
      earlyPickBytes: 128 * 1024,
      nowMs: 0,
    });
    expect(findings.map(({ where }) => where)).toEqual([
      'Envoy a:1: 0 HTTP listeners of Envoy; Envoy b:1: 0 HTTP listeners of Envoy',
      'picker q:1: 1 of 2 endpoints',
    ]);
  });
});
