import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, serveOptions } from '../../bench/support/stack.ts';
import type { Finding } from '../../src/doctor/finding.ts';
import { renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import {
  ACCESS_LOG,
  doctor,
  type Edit,
  endDoctor,
  FILTER,
  LOG_CLUSTER,
  PICKER,
  set,
} from '../support/doctor-bed.ts';
import {
  DUPLEX,
  FilesForEnvoy,
  filterOff,
  hostSettings,
  inEnvelope,
  otherFilterFirst,
  routes,
  settings,
  silentFilter,
  TO_PICKED,
  WITHOUT_BODY,
} from '../support/generated-envoy.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

/** Envoy as gateways configure it; what the doctor says of it is compared with what it does. */

const binary = await envoyBinary();
afterAll(endDoctor);
const ISTIO_CLUSTER = 'outbound|9002||pool-epp.default.svc.cluster.local';

const asked = {
  processing_mode: DUPLEX,
  grpc_service: { envoy_grpc: { cluster_name: 'ext_proc' } },
};
const plain = { route: { ...TO_PICKED, cluster: 'ext_proc' }, match: { prefix: '/health' } };
const split = {
  timeout: '0s',
  idle_timeout: '86400s',
  weighted_clusters: {
    clusters: [
      {
        name: 'picked_endpoint',
        weight: 1,
        typed_per_filter_config: settings({ ...asked, failure_mode_allow: false }),
      },
      { name: 'ext_proc', weight: 0 },
    ],
  },
};

/** `model`: what the picker reads of a request. */
const GENERATED: readonly (readonly [
  string,
  edits: readonly Edit[],
  findings: readonly string[],
  model: string,
])[] = [
  [
    'a filter that sends nothing, which one route overrides',
    [
      silentFilter,
      routes(plain, {
        route: TO_PICKED,
        typed_per_filter_config: settings({ ...asked, failure_mode_allow: false }),
      }),
    ],
    ['warning no-picker-retry'],
    'm',
  ],
  [
    'one that only a weighted cluster overrides',
    [silentFilter, routes({ route: split })],
    ['warning no-picker-retry'],
    'm',
  ],
  [
    'one that is off, and on by an empty envelope',
    [filterOff, routes({ route: TO_PICKED, typed_per_filter_config: inEnvelope() })],
    [],
    'm',
  ],
  [
    'overrides in an envelope',
    [
      filterOff,
      routes({
        route: TO_PICKED,
        typed_per_filter_config: inEnvelope({ processing_mode: WITHOUT_BODY }),
      }),
    ],
    ['error request-body-not-sent'],
    '',
  ],
  [
    'overrides of a virtual host below those of its route',
    [
      hostSettings(settings({ processing_mode: WITHOUT_BODY })),
      routes({
        route: TO_PICKED,
        typed_per_filter_config: settings({ failure_mode_allow: false }),
      }),
    ],
    ['error request-body-not-sent'],
    '',
  ],
];

describe.skipIf(binary === undefined)(
  'pointsman doctor beside an Envoy that a gateway configures',
  () => {
    let upstream: Upstream;
    let picker: Serving;
    let rendered: (...edits: readonly Edit[]) => string;
    beforeAll(async () => {
      upstream = await startUpstream();
      picker = await startServe(serveOptions({ endpoints: [upstream.address] }));
      rendered = (...edits) =>
        renderEnvoyConfig({
          wiring: 'envoy',
          listenerPort: 0,
          extProcAddress: `127.0.0.1:${picker.extProcPort}`,
          edit: (config) => edits.forEach((edit) => edit(config)),
        });
    });
    afterAll(async () => {
      await picker?.stop();
      await upstream?.stop();
    });

    async function withEnvoy<T>(
      configYaml: string,
      use: (ports: { readonly adminPort: number; readonly listenerPort: number }) => Promise<T>,
    ): Promise<T> {
      const envoy = await startEnvoy({ binary: binary ?? '', configYaml, log: () => undefined });
      try {
        return await use(envoy);
      } finally {
        await envoy.stop();
      }
    }

    const post = (port: number): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', prompt: 'hello' }),
      });
    const latestModel = async (): Promise<string> => {
      const page = await fetch(`http://127.0.0.1:${picker.metricsPort}/debug/decisions?limit=1`);
      const { decisions } = (await page.json()) as { decisions: readonly { model?: string }[] };
      return decisions[0]?.model ?? '';
    };

    it.each(GENERATED)(
      '[O295] puts settings together as Envoy does: %s',
      async (_name, edits, ids, model) => {
        await withEnvoy(rendered(...edits), async ({ adminPort, listenerPort }) => {
          expect((await post(listenerPort)).status).toBe(200);
          expect(await latestModel()).toBe(model);
          const { text } = await doctor('--envoy', `127.0.0.1:${adminPort}`, '--json');
          const { findings } = JSON.parse(text) as { readonly findings: readonly Finding[] };
          expect(findings.map(({ severity, id }) => `${severity} ${id}`)).toEqual(ids);
        });
      },
    );

    it('[O296] looks at the last of several filters, and names the others', async () => {
      await withEnvoy(rendered(otherFilterFirst), async ({ adminPort }) => {
        const { text } = await doctor('--envoy', `127.0.0.1:${adminPort}`);
        expect(text).toMatch(/without semantic-router, .*: nothing to complain about\n$/);
      });
    });

    it('[O297] says what Envoy has refused of an update by xDS, and why', async () => {
      const files = new FilesForEnvoy(rendered());
      await withEnvoy(files.bootstrap, async ({ adminPort }) => {
        const said = async (): Promise<string> =>
          (await doctor('--envoy', `127.0.0.1:${adminPort}`)).text;
        expect(await said()).toMatch(/: nothing to complain about\n$/);
        files.replace('lds', 'request_trailer_mode: SEND', 'request_trailer_mode: SKIP');
        files.replace('cds', 'lb_policy: LEAST_REQUEST', 'lb_policy: CLUSTER_PROVIDED');
        const text = await eventually(
          said,
          (each) => each.includes('2 errors') || each.includes('1 warning'),
        );
        expect(text).toMatch(
          /^ERROR update-refused: listener inference\n.*request_trailer_mode has to be set to SEND/m,
        );
        expect(text).toMatch(
          /^WARNING update-refused: counter cluster_manager\.cds\.update_rejected/m,
        );
      });
    });

    it('[O299] serves a gateway whose cluster is named as Istio names it, which is the authority of its streams', async () => {
      const renamed: Edit[] = [
        set([...FILTER, 'grpc_service', 'envoy_grpc', 'cluster_name'], ISTIO_CLUSTER),
        set([...PICKER, 'name'], ISTIO_CLUSTER),
        set([...ACCESS_LOG, ...LOG_CLUSTER], ISTIO_CLUSTER),
      ];
      await withEnvoy(rendered(...renamed), async ({ listenerPort }) => {
        expect((await post(listenerPort)).status).toBe(200);
      });
    });
  },
);
