import { describe, expect, it } from 'vitest';
import { checkPickerReached } from './check-picker-reached.ts';
import { diagnose } from './diagnose.ts';
import { readSetup } from './envoy-setup.ts';
import type { Cluster } from './envoy-types.ts';

/** Counters of Envoy 1.40 after three requests to a picker in each of these set-ups. */
const PLAIN_TO_TLS = {
  upstream_cx_http2_total: 3,
  upstream_cx_destroy_remote_with_active_rq: 3,
  upstream_rq_503: 3,
};
const TLS_TO_PLAIN = { upstream_cx_connect_fail: 3, 'ssl.connection_error': 3 };
const TO_NOTHING = { upstream_cx_http2_total: 3, upstream_cx_connect_fail: 3 };
const FIRST_HTTP1 = { upstream_cx_http1_total: 3, upstream_cx_protocol_error: 3 };

const PLAIN: Cluster = {
  name: 'ext_proc',
  load_assignment: {
    endpoints: [
      {
        lb_endpoints: [
          {
            endpoint: { address: { socket_address: { address: '10.0.0.9', port_value: 9003 } } },
          },
        ],
      },
    ],
  },
};
const WITH_TLS: Cluster = { ...PLAIN, transport_socket: { name: 'envoy.transport_sockets.tls' } };

const found = (cluster: Cluster, counters: Readonly<Record<string, number>>) => {
  const stats = Object.entries(counters).map(([name, value]) => ({
    name: `cluster.ext_proc.${name}`,
    value,
  }));
  return checkPickerReached({ stats: { stats } }, [cluster]);
};

describe('[O500] a picker that Envoy has never reached', () => {
  it('has TLS where Envoy has none: the lines add it', () => {
    const [finding] = found(PLAIN, PLAIN_TO_TLS);
    expect(finding).toMatchObject({ severity: 'error', id: 'picker-not-reached' });
    expect(finding?.what).toMatch(/^Envoy speaks no TLS/);
    expect(finding?.lines?.join('\n')).toContain('trust_chain_verification: ACCEPT_UNTRUSTED');
  });

  it('has no TLS where Envoy has it', () => {
    expect(found(WITH_TLS, TLS_TO_PLAIN)[0]?.mend).toMatch(/^Remove transport_socket/);
  });

  it('shows a certificate that Envoy does not accept, or one with other names', () => {
    const refused = { 'ssl.connection_error': 3, 'ssl.fail_verify_error': 3 };
    expect(found(WITH_TLS, refused)[0]?.mend).toMatch(/the authority of the picker’s certificate/);
    const named = { 'ssl.connection_error': 3, 'ssl.fail_verify_san': 3 };
    expect(found(WITH_TLS, named)[0]?.mend).toMatch(/^Correct the names/);
  });

  it('listens elsewhere: the address that Envoy asks is named', () => {
    const [finding] = found(PLAIN, TO_NOTHING);
    expect(finding?.what).toContain('could not connect at 10.0.0.9:9003 whenever it tried:');
  });

  it('[O556] may run by now: Envoy’s counters know only what it has tried', () => {
    expect(found(PLAIN, TO_NOTHING)[0]?.mend).toMatch(/runs there by now, send a request/);
  });

  it('may refuse the certificate of Envoy, whose counters are then those of no listener', () => {
    const what = found(WITH_TLS, TO_NOTHING)[0]?.what;
    expect(what).toContain(
      '9003 whenever it tried, or a picker there refuses its client certificate:',
    );
  });

  it.each([
    ['it has answered before', { ...TO_NOTHING, upstream_rq_2xx: 1 }],
    ['there was no request', {}],
    ['HTTP/2 is missing, which has a finding of its own', FIRST_HTTP1],
  ])('is not claimed where %s', (_, counters) => {
    expect(found(PLAIN, counters)).toEqual([]);
  });
});

const filterOf = (name: string, cluster: string, more: object = {}) => ({
  name,
  typed_config: {
    '@type': 'x/ext_proc.v3.ExternalProcessor',
    grpc_service: { envoy_grpc: { cluster_name: cluster } },
    ...more,
  },
});

const idsWith = (...filters: readonly object[]) => {
  const manager = {
    '@type': 'x/HttpConnectionManager',
    http_filters: filters,
    route_config: { virtual_hosts: [{ name: 'h', routes: [{ route: { cluster: 'a' } }] }] },
  };
  const listener = { name: 'l', filter_chains: [{ filters: [{ typed_config: manager }] }] };
  const setup = readSetup({ configs: [{ static_listeners: [{ listener }] }] });
  return diagnose({
    envoys: [{ at: 'a:1', setup, info: {}, stats: {}, certs: {} }],
    clocks: [],
    earlyPickBytes: 128 * 1024,
    nowMs: 0,
  }).map(({ id }) => id);
};

describe('[O501] two filters of one route', () => {
  it('that ask one cluster pick twice', () => {
    expect(idsWith(filterOf('a', 'epp'), filterOf('b', 'epp'))).toContain('picker-asked-twice');
  });

  it('that ask two clusters, or of which one observes, do not', () => {
    const apart = idsWith(filterOf('a', 'guard'), filterOf('b', 'epp'));
    expect(apart).not.toContain('picker-asked-twice');
    const observer = filterOf('b', 'epp', { observability_mode: true });
    expect(idsWith(filterOf('a', 'epp'), observer)).not.toContain('picker-asked-twice');
  });
});
