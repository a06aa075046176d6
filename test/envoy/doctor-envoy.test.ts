import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSeq } from 'yaml';
import { z } from 'zod';
import { envoyBinary, eventually } from '../../bench/support/stack.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { type ChildCommand, startChildCommand } from '../../src/lab/demo/child-command.ts';
import { CONNECTION_MANAGER, type EnvoyConfigOptions } from '../../src/lab/envoy/render-config.ts';
import {
  ACCESS_LOG,
  type Diagnosis,
  diagnosed,
  doctor,
  doctorAlone,
  type Edit,
  endDoctor,
  FILTER,
  HTTP_OPTIONS,
  HTTP2,
  LISTENER,
  mode,
  PICKER,
  pasted,
  ROUTE,
  remove,
  SERVERS,
  set,
} from '../support/doctor-bed.ts';

const binary = await envoyBinary();
afterAll(endDoctor);
const ports = z.object({ extProcPort: z.int(), metricsPort: z.int() });

const KEEPALIVE = [...PICKER, ...HTTP2, 'http2_protocol_options', 'connection_keepalive'];
const RETRY = [...FILTER, 'grpc_service', 'retry_policy'];

/** A filter that takes 8 MiB, behind the picker's. */
const addBufferFilter: Edit = (config) => {
  const filters = config.getIn([...CONNECTION_MANAGER, 'http_filters']);
  if (!isSeq(filters)) throw new Error('the shipped configuration has no filters');
  const type = 'type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer';
  const typed = { '@type': type, max_request_bytes: 8 * 1024 * 1024 };
  const filter = { name: 'envoy.filters.http.buffer', typed_config: typed };
  filters.items.splice(1, 0, config.createNode(filter));
};

/** Broken variants of deploy/envoy.yaml, each with several faults that do not hide each other. */
const BROKEN: readonly (readonly [
  name: string,
  findings: readonly string[],
  edits: readonly Edit[],
])[] = [
  [
    'Envoy’s own defaults',
    [
      'WARNING end-not-seen',
      'ERROR message-timeout',
      'ERROR request-body-not-sent',
      'ERROR route-timeout',
      'WARNING circuit-breaker',
      'WARNING cleanup-interval',
      'WARNING cut-answers-not-seen',
      'WARNING idle-timeout',
      'WARNING no-health-check',
      'WARNING no-keepalive',
      'WARNING no-outlier-detection',
      'WARNING no-picker-retry',
      'WARNING upstream-idle-timeout',
    ],
    [
      mode({}),
      remove([...FILTER, 'message_timeout']),
      remove([...ROUTE, 'timeout']),
      remove([...ROUTE, 'idle_timeout']),
      remove([...CONNECTION_MANAGER, 'stream_idle_timeout']),
      remove([...CONNECTION_MANAGER, 'access_log']),
      remove([...SERVERS, 'circuit_breakers']),
      remove([...SERVERS, 'cleanup_interval']),
      remove([...SERVERS, 'typed_extension_protocol_options']),
      remove([...PICKER, 'health_checks']),
      remove([...PICKER, 'outlier_detection']),
      remove([...FILTER, 'grpc_service', 'retry_policy']),
      remove(KEEPALIVE),
    ],
  ],
  [
    'bodies that are buffered, and a filter that fails open',
    [
      'ERROR buffered-body-limit',
      'ERROR client-names-destination',
      'ERROR response-buffered',
      'ERROR stream-timeout',
      'WARNING cut-answers-not-seen',
      'WARNING failure-mode-allow',
      'WARNING no-outlier-detection',
      'WARNING panic-threshold',
      'WARNING picker-retry-same-host',
      'WARNING slow-keepalive',
      'WARNING small-http2-window',
    ],
    [
      mode({ request_body_mode: 'BUFFERED', response_body_mode: 'BUFFERED' }),
      set([...FILTER, 'failure_mode_allow'], true),
      remove([...ACCESS_LOG, 'typed_config', 'common_config', 'buffer_size_bytes']),
      remove([...CONNECTION_MANAGER, 'early_header_mutation_extensions']),
      set([...FILTER, 'grpc_service', 'timeout'], '30s'),
      set([...RETRY, 'host_selection_retry_max_attempts'], 3),
      set([...PICKER, 'outlier_detection', 'split_external_local_origin_errors'], false),
      remove([...PICKER, 'common_lb_config', 'healthy_panic_threshold']),
      set([...PICKER, ...HTTP2, 'http2_protocol_options', 'initial_stream_window_size'], 65_536),
      set([...KEEPALIVE, 'interval'], '30s'),
    ],
  ],
  [
    'a small listener, a picker without HTTP/2 and a route elsewhere',
    [
      'ERROR destination-not-read',
      'ERROR early-pick-limit',
      'ERROR picker-without-http2',
      'ERROR request-body-too-late',
      'ERROR stream-duration',
      'WARNING no-health-check',
    ],
    [
      mode({ request_body_mode: 'STREAMED', response_trailer_mode: 'SEND' }),
      set([...LISTENER, 'per_connection_buffer_limit_bytes'], 65_536),
      set([...PICKER, ...HTTP2], { http_protocol_options: {} }),
      remove([...PICKER, 'health_checks']),
      set([...SERVERS, 'original_dst_lb_config', 'http_header_name'], 'x-other'),
      set([...ROUTE, 'max_stream_duration'], { max_stream_duration: '60s' }),
    ],
  ],
  [
    'a route to a cluster that chooses by itself',
    ['ERROR destination-not-read'],
    [
      set([...SERVERS, 'type'], 'STATIC'),
      set([...SERVERS, 'lb_policy'], 'ROUND_ROBIN'),
      remove([...SERVERS, 'original_dst_lb_config']),
      remove([...SERVERS, 'cleanup_interval']),
    ],
  ],
  [
    'rules that refuse the pick, and limits in places that are seldom looked at',
    [
      'ERROR buffer-filter-limit',
      'ERROR destination-refused',
      'ERROR stream-duration',
      'ERROR try-timeout',
      'WARNING retry-limit',
      'WARNING small-http2-window',
    ],
    [
      set([...FILTER, 'mutation_rules'], { disallow_all: true }),
      addBufferFilter,
      set([...ROUTE, 'retry_policy'], { retry_on: '5xx', per_try_timeout: '20s' }),
      set([...SERVERS, ...HTTP_OPTIONS, 'common_http_protocol_options'], {
        idle_timeout: '4s',
        max_stream_duration: '120s',
      }),
      remove([...PICKER, 'circuit_breakers', 'thresholds', 0, 'max_retries']),
      set(
        [...PICKER, ...HTTP2, 'http2_protocol_options', 'initial_connection_window_size'],
        65_535,
      ),
    ],
  ],
];

describe.skipIf(binary === undefined)('pointsman doctor beside a real Envoy', () => {
  let stub: ChildCommand;
  let picker: ChildCommand;
  let admin: string;
  let extProcAddress: string;
  beforeAll(async () => {
    stub = await startChildCommand(['stub', '--count', '2', '--port', '0', '--json']);
    const { endpoints } = z.object({ endpoints: z.array(z.string()) }).parse(stub.document);
    const flags = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0', '--json'];
    const pool = ['--endpoints', endpoints.join(), '--insecure', '--log-level', 'silent'];
    picker = await startChildCommand(['serve', ...flags, ...pool]);
    const { extProcPort, metricsPort } = ports.parse(picker.document);
    extProcAddress = `127.0.0.1:${extProcPort}`;
    admin = `127.0.0.1:${metricsPort}`;
  });
  afterAll(async () => {
    await picker?.stop();
    await stub?.stop();
  });

  const asked = (
    wiring: EnvoyConfigOptions['wiring'],
    edits: readonly Edit[],
    ...flags: readonly string[]
  ): Promise<Diagnosis> =>
    diagnosed({ binary: binary ?? '', extProcAddress, wiring, edits }, ...flags);

  it.each(['envoy', 'envoy-efficient', 'envoy-fallbacks', 'envoy-observer'] as const)(
    '[O50] has nothing to complain about deploy/%s.yaml and a picker that works',
    async (wiring) => {
      const ready = ({ text }: Diagnosis): boolean => text.includes('nothing to complain about');
      await eventually(() => doctor('--admin', admin), ready);
      const { code, text } = await asked(wiring, [], '--admin', admin, '--config', 'default');
      expect(text).toMatch(/^looked at Envoy 1\.\d+\.\d+ .*: nothing to complain about\n$/);
      expect(code).toBe(0);
    },
  );

  it.each(BROKEN)(
    '[O51] [O288] [V473] [V475] names every fault of %s, with lines to paste, and is content once they are pasted',
    async (_name, ids, edits) => {
      const { code, text } = await asked('envoy', edits, '--json');
      const { findings } = JSON.parse(text) as { readonly findings: readonly Finding[] };
      const found = findings.map(({ severity, id }) => `${severity.toUpperCase()} ${id}`);
      expect(found.toSorted()).toEqual(ids.toSorted());
      expect(code).toBe(1);
      const mended = await asked('envoy', [...edits, pasted(findings)]);
      expect(mended.text).toMatch(/: nothing to complain about\n$/);
    },
  );

  it('[O289] complains of message_timeout only where Envoy has one, and by what the configuration lets wait', async () => {
    // In full duplex Envoy waits without limit.
    const unset = await asked('envoy', [remove([...FILTER, 'message_timeout'])]);
    expect(unset.text).toContain('nothing to complain about');
    const zero = await asked('envoy-efficient', [set([...FILTER, 'message_timeout'], '0s')]);
    expect(zero.text).toMatch(/^ERROR message-timeout.*\n.*0 s: every request fails/m);

    const short = [set([...FILTER, 'message_timeout'], '120s')];
    const alone = await asked('envoy-efficient', short);
    expect(alone.text).toContain('nothing to complain about');
    const known = await asked(
      'envoy-efficient',
      short,
      '--config',
      'deploy/examples/scale-from-zero.yaml',
    );
    expect(known.text).toMatch(/^WARNING message-timeout.*\n.*wait for up to 300 s\.$/m);
    expect(known.text).toContain('    message_timeout: 1000s\n');
  });

  it('[O52] exits with 0 where there are warnings only, and prints them as JSON', async () => {
    const edits = [remove([...SERVERS, 'circuit_breakers'])];
    const { code, text } = await asked('envoy', edits, '--json');
    expect(code).toBe(0);
    const { findings } = JSON.parse(text) as { readonly findings: readonly Finding[] };
    expect(findings.map(({ id, severity }) => [id, severity])).toEqual([
      ['circuit-breaker', 'warning'],
    ]);
  });

  it('[O53] says that no picker answers, and what Envoy has counted', async () => {
    const edits = [
      set(
        [
          ...PICKER,
          'load_assignment',
          'endpoints',
          0,
          'lb_endpoints',
          0,
          'endpoint',
          'address',
          'socket_address',
          'port_value',
        ],
        1,
      ),
    ];
    const { code, text } = await asked('envoy', edits);
    expect(text).toContain('ERROR picker-down: cluster ext_proc');
    expect(code).toBe(1);
  });
});

describe('pointsman doctor without what it asks', () => {
  it('[O187] looks at the picker of this machine without options, and says what did not answer', async () => {
    // Something may answer at that port of this machine.
    expect((await doctorAlone()).text).toContain('127.0.0.1:9090');
    const dead = await doctorAlone('--envoy', '127.0.0.1:1');
    expect(dead.code).toBe(1);
    expect(dead.text).toContain('no answer from 127.0.0.1:1');
  });
});
