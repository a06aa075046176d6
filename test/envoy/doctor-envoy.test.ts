import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { z } from 'zod';
import { envoyBinary, eventually } from '../../bench/support/stack.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { type ChildCommand, startChildCommand } from '../../src/lab/demo/child-command.ts';
import {
  CONNECTION_MANAGER,
  type EnvoyConfigOptions,
  renderEnvoyConfig,
} from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { PROGRAM } from '../support/programs/program.ts';

const binary = await envoyBinary();
const ports = z.object({ extProcPort: z.int(), metricsPort: z.int() });

interface Diagnosis {
  readonly code: number;
  readonly text: string;
}

function doctor(...flags: readonly string[]): Promise<Diagnosis> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, 'doctor', ...flags], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
}

type Edit = (config: Document) => void;

const FILTER = [...CONNECTION_MANAGER, 'http_filters', 0, 'typed_config'];
const RETRY = [...FILTER, 'grpc_service', 'retry_policy'];
const LISTENER = ['static_resources', 'listeners', 0];
const ROUTE = [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0, 'routes', 0, 'route'];
const SERVERS = ['static_resources', 'clusters', 0];
const PICKER = ['static_resources', 'clusters', 1];
const HTTP = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
const HTTP2 = ['typed_extension_protocol_options', HTTP, 'explicit_http_config'];

const set =
  (path: readonly (string | number)[], value: unknown): Edit =>
  (config) =>
    config.setIn(path, value);
const remove =
  (path: readonly (string | number)[]): Edit =>
  (config) =>
    void config.deleteIn(path);
const mode = (more: Readonly<Record<string, string>>): Edit =>
  set([...FILTER, 'processing_mode'], { request_header_mode: 'SEND', ...more });

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
      remove([...SERVERS, 'circuit_breakers']),
      remove([...SERVERS, 'cleanup_interval']),
      remove([...SERVERS, 'typed_extension_protocol_options']),
      remove([...PICKER, 'health_checks']),
      remove([...PICKER, 'outlier_detection']),
      remove([...FILTER, 'grpc_service', 'retry_policy']),
      remove([...PICKER, ...HTTP2, 'http2_protocol_options', 'connection_keepalive']),
    ],
  ],
  [
    'bodies that are buffered, and a filter that fails open',
    [
      'ERROR buffered-body-limit',
      'ERROR client-names-destination',
      'ERROR response-buffered',
      'ERROR stream-timeout',
      'WARNING failure-mode-allow',
      'WARNING no-outlier-detection',
      'WARNING panic-threshold',
      'WARNING picker-retry-same-host',
      'WARNING small-http2-window',
    ],
    [
      mode({ request_body_mode: 'BUFFERED', response_body_mode: 'BUFFERED' }),
      set([...FILTER, 'failure_mode_allow'], true),
      remove([...CONNECTION_MANAGER, 'early_header_mutation_extensions']),
      set([...FILTER, 'grpc_service', 'timeout'], '30s'),
      set([...RETRY, 'host_selection_retry_max_attempts'], 3),
      set([...PICKER, 'outlier_detection', 'split_external_local_origin_errors'], false),
      remove([...PICKER, 'common_lb_config', 'healthy_panic_threshold']),
      set([...PICKER, ...HTTP2, 'http2_protocol_options', 'initial_stream_window_size'], 65_536),
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

  /** The findings about an Envoy that has made its first health check. */
  async function diagnosed(
    wiring: EnvoyConfigOptions['wiring'],
    edits: readonly Edit[],
    ...flags: readonly string[]
  ): Promise<Diagnosis> {
    const configYaml = renderEnvoyConfig({
      wiring,
      listenerPort: 0,
      extProcAddress,
      ...(wiring === 'envoy-observer' && { observerAddress: extProcAddress }),
      edit: (config) => edits.forEach((edit) => edit(config)),
    });
    const envoy = await startEnvoy({ binary: binary ?? '', configYaml, log: () => undefined });
    try {
      return await doctor('--envoy', `127.0.0.1:${envoy.adminPort}`, ...flags);
    } finally {
      await envoy.stop();
    }
  }

  it.each(['envoy', 'envoy-efficient', 'envoy-fallbacks', 'envoy-observer'] as const)(
    '[O50] has nothing to complain about deploy/%s.yaml and a picker that works',
    async (wiring) => {
      const ready = ({ text }: Diagnosis): boolean => text.includes('nothing to complain about');
      await eventually(() => doctor('--admin', admin), ready);
      const { code, text } = await diagnosed(wiring, [], '--admin', admin, '--config', 'default');
      expect(text).toMatch(/^looked at Envoy 1\.\d+\.\d+ .*: nothing to complain about\n$/);
      expect(code).toBe(0);
    },
  );

  it.each(BROKEN)(
    '[O51] names every fault of %s, with lines to paste',
    async (_name, ids, edits) => {
      const { code, text } = await diagnosed('envoy', edits);
      const found = [...text.matchAll(/^(ERROR|WARNING) [a-z0-9-]+/gm)].map(([line]) => line);
      expect(found.toSorted()).toEqual(ids.toSorted());
      expect(code).toBe(1);
      expect(text.match(/change it to:/g)?.length).toBe(ids.length);
    },
  );

  it('[O51] is content after the lines of a finding have been pasted', async () => {
    const { text } = await diagnosed('envoy', [remove([...FILTER, 'message_timeout'])]);
    expect(text).toContain('    message_timeout: 1000s\n');
    const mended = await diagnosed('envoy', [set([...FILTER, 'message_timeout'], '1000s')]);
    expect(mended.code).toBe(0);
  });

  it('[O52] exits with 0 where there are warnings only, and prints them as JSON', async () => {
    const edits = [remove([...SERVERS, 'circuit_breakers'])];
    const { code, text } = await diagnosed('envoy', edits, '--json');
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
    const { code, text } = await diagnosed('envoy', edits);
    expect(text).toContain('ERROR picker-down: cluster ext_proc');
    expect(code).toBe(1);
  });
});

describe('pointsman doctor without what it asks', () => {
  it('[O187] looks at the picker of this machine without options, and says what did not answer', async () => {
    // Something may answer at that port of this machine.
    expect((await doctor()).text).toContain('127.0.0.1:9090');
    const dead = await doctor('--envoy', '127.0.0.1:1');
    expect(dead.code).toBe(1);
    expect(dead.text).toContain('no answer from 127.0.0.1:1');
  });
});
