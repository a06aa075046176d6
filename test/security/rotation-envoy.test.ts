import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import {
  envoyBinary,
  eventually,
  serveOptions,
  waitForPickers,
} from '../../bench/support/stack.ts';
import type { Certificate } from '../../src/extproc/server/port/tls-credentials.ts';
import { renderEnvoyConfig } from '../../src/lab/envoy/render-config.ts';
import { startEnvoy } from '../../src/lab/envoy/run-envoy.ts';
import { startServe } from '../../src/serve/serve.ts';
import { issue, newAuthority } from '../support/servers/certificates.ts';
import { startUpstream } from '../support/servers/upstream.ts';

const binary = await envoyBinary();
const TLS = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3';
const EXT_PROC_CLUSTER = ['static_resources', 'clusters', 1];
/** So Envoy connects again and again, and each new connection shows its certificates. */
const REQUESTS_PER_CONNECTION = 3;
/** At least one of them needs a new connection. */
const REQUESTS_PER_STEP = 6;
const UPDATES = /^cluster\.ext_proc\.client_ssl_socket_factory\.ssl_context_update_by_sds: (\d+)/gm;
const RELOADS = /^pointsman_certificate_reloads_total\{.*adopted.*\} (\d+)/gm;
const PIECE = 'one piece of the answer\n';

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** As certificates are replaced in a cluster: whole files, by a rename. */
function put(path: string, text: string | Buffer): void {
  writeFileSync(`${path}.next`, text);
  renameSync(`${path}.next`, path);
}

/** Files from which Envoy takes its certificate and the authorities of the picker. */
class EnvoySecrets {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  certificate({ cert, key }: Certificate): void {
    const [chain, own] = [inline(cert), inline(key)];
    this.#put('client', { tls_certificate: { certificate_chain: chain, private_key: own } });
  }

  authorities(...authorities: readonly Certificate[]): void {
    const trusted_ca = inline(bundle(authorities));
    this.#put('authorities', { validation_context: { trusted_ca } });
  }

  /** The connection to the picker takes them from there. */
  readonly wire = (config: Document): void => {
    const secret = (name: string) => ({
      name,
      sds_config: { path_config_source: { path: this.#path(name) }, resource_api_version: 'V3' },
    });
    const context = {
      '@type': `${TLS}.UpstreamTlsContext`,
      common_tls_context: {
        alpn_protocols: ['h2'],
        tls_certificate_sds_secret_configs: [secret('client')],
        validation_context_sds_secret_config: secret('authorities'),
      },
    };
    const socket = { name: 'envoy.transport_sockets.tls', typed_config: context };
    config.setIn([...EXT_PROC_CLUSTER, 'transport_socket'], config.createNode(socket));
    config.set('node', config.createNode({ id: 'envoy', cluster: 'test' }));
    const protocol = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
    config.setIn(
      [
        ...EXT_PROC_CLUSTER,
        'typed_extension_protocol_options',
        protocol,
        'common_http_protocol_options',
      ],
      config.createNode({ max_requests_per_connection: REQUESTS_PER_CONNECTION }),
    );
  };

  #put(name: string, secret: object): void {
    const resource = { '@type': `${TLS}.Secret`, name, ...secret };
    put(this.#path(name), JSON.stringify({ resources: [resource] }));
  }

  readonly #path = (name: string): string => join(this.#folder, `${name}.yaml`);
}

const inline = (pem: Buffer) => ({ inline_string: pem.toString() });
const bundle = (all: readonly Certificate[]): Buffer =>
  Buffer.concat(all.flatMap(({ cert }) => [cert, Buffer.from('\n')]));

interface Bed {
  readonly secrets: EnvoySecrets;
  /** Sends requests one after the other, and returns the statuses that are not 200. */
  failures(count: number): Promise<readonly number[]>;
  /** Waits until Envoy has taken so many secrets since it runs. */
  envoyHas(updates: number): Promise<unknown>;
  /** Waits until the picker has taken so many certificates or authorities. */
  pickerHas(reloads: number): Promise<unknown>;
  readonly url: string;
}

async function startBed(folder: string, pool: string): Promise<Bed> {
  const serving = await startServe(
    serveOptions({
      endpoints: [pool],
      insecure: false,
      certPath: join(folder, 'picker'),
      clientCaFile: join(folder, 'clients.pem'),
    }),
  );
  stops.push(() => serving.stop());
  const secrets = new EnvoySecrets(folder);
  const configYaml = renderEnvoyConfig({
    wiring: 'envoy',
    listenerPort: 0,
    extProcAddress: `127.0.0.1:${serving.extProcPort}`,
    edit: (config) => {
      waitForPickers(config);
      secrets.wire(config);
    },
  });
  const envoy = await startEnvoy({ binary: binary ?? '', configYaml, log: () => undefined });
  stops.push(() => envoy.stop());
  const url = `http://127.0.0.1:${envoy.listenerPort}/v1/completions`;
  const sumOf = async (port: number, path: string, pattern: RegExp): Promise<number> => {
    const page = await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    return [...page.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const updates = (): Promise<number> => sumOf(envoy.adminPort, '/stats', UPDATES);
  const atStart = await updates();
  return {
    secrets,
    url,
    failures: async (count) => {
      const statuses: number[] = [];
      for (let n = 0; n < count; n++) {
        const answer = await fetch(url, post());
        await answer.text();
        statuses.push(answer.status);
      }
      return statuses.filter((status) => status !== 200);
    },
    envoyHas: (count) => eventually(updates, (found) => found >= atStart + count),
    pickerHas: (count) =>
      eventually(
        () => sumOf(serving.metricsPort, '/metrics', RELOADS),
        (found) => found >= count,
      ),
  };
}

const post = (): RequestInit => ({
  method: 'POST',
  body: JSON.stringify({ model: 'm', prompt: 'hi', stream: true }),
  headers: { 'content-type': 'application/json' },
});

describe.skipIf(binary === undefined)('certificates between a real Envoy and the picker', () => {
  it('[V152] are replaced on both sides, with their authorities, while requests run, and no stream is dropped', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pointsman-rotation-'));
    stops.push(() => rmSync(folder, { recursive: true }));
    const old = {
      pickers: await newAuthority('pickers 1'),
      clients: await newAuthority('clients 1'),
    };
    const next = {
      pickers: await newAuthority('pickers 2'),
      clients: await newAuthority('clients 2'),
    };
    mkdirSync(join(folder, 'picker'));
    const pickerHas = ({ cert, key }: Certificate): void => {
      put(join(folder, 'picker', 'tls.crt'), cert);
      put(join(folder, 'picker', 'tls.key'), key);
    };
    const pickerTrusts = (...all: readonly Certificate[]): void =>
      put(join(folder, 'clients.pem'), bundle(all));
    pickerHas(await issue(old.pickers, 'picker.test'));
    pickerTrusts(old.clients);
    const files = new EnvoySecrets(folder);
    files.certificate(await issue(old.clients, 'envoy.test'));
    files.authorities(old.pickers);

    const upstream = await startUpstream();
    stops.push(() => upstream.stop());
    const bed = await startBed(folder, upstream.address);
    expect(await bed.failures(REQUESTS_PER_STEP)).toEqual([]);

    // This request's stream stays open on the first certificates, until the end.
    let piece = (): void => undefined;
    let end = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      upstream.answer((_received, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        piece = () => void response.write(PIECE);
        end = () => void response.end();
        piece();
        resolve();
      });
    });
    const long = await fetch(bed.url, post());
    await held;
    upstream.answer((_received, response) => void response.end('{"ok":true}'));

    const steps: readonly (readonly [change: () => unknown, wait: () => Promise<unknown>])[] = [
      [async () => pickerHas(await issue(old.pickers, 'picker.test')), () => bed.pickerHas(1)],
      [
        async () => bed.secrets.certificate(await issue(old.clients, 'envoy.test')),
        () => bed.envoyHas(1),
      ],
      // An authority is replaced in three steps: both are trusted in between.
      [() => bed.secrets.authorities(old.pickers, next.pickers), () => bed.envoyHas(2)],
      [async () => pickerHas(await issue(next.pickers, 'picker.test')), () => bed.pickerHas(2)],
      [() => bed.secrets.authorities(next.pickers), () => bed.envoyHas(3)],
      [() => pickerTrusts(old.clients, next.clients), () => bed.pickerHas(3)],
      [
        async () => bed.secrets.certificate(await issue(next.clients, 'envoy.test')),
        () => bed.envoyHas(4),
      ],
      [() => pickerTrusts(next.clients), () => bed.pickerHas(4)],
    ];
    for (const [change, wait] of steps) {
      const during = bed.failures(REQUESTS_PER_STEP);
      await change();
      await wait();
      expect(await during).toEqual([]);
      expect(await bed.failures(REQUESTS_PER_STEP)).toEqual([]);
      piece();
    }
    end();
    expect(await long.text()).toBe(PIECE.repeat(1 + steps.length));
  });
});
