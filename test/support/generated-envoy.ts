import { mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';
import { type Edit, FILTER, set } from './doctor-bed.ts';

/** Configurations of Envoy as gateways generate them. */

const FILTERS = 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3';
const CONFIG = 'type.googleapis.com/envoy.config';
const HOST = [...CONNECTION_MANAGER, 'route_config', 'virtual_hosts', 0];
const NAME = 'envoy.filters.http.ext_proc';

export const DUPLEX = {
  request_header_mode: 'SEND',
  request_body_mode: 'FULL_DUPLEX_STREAMED',
  request_trailer_mode: 'SEND',
  response_header_mode: 'SEND',
  response_body_mode: 'FULL_DUPLEX_STREAMED',
  response_trailer_mode: 'SEND',
};
export const WITHOUT_BODY: Readonly<Record<string, string>> = {
  ...DUPLEX,
  request_body_mode: 'NONE',
  request_trailer_mode: 'SKIP',
};
export const TO_PICKED = { cluster: 'picked_endpoint', timeout: '0s', idle_timeout: '86400s' };

/** A filter that sends nothing, to a cluster that is not there, as Istio puts it into a listener. */
export const silentFilter: Edit = set(FILTER, {
  '@type': `${FILTERS}.ExternalProcessor`,
  grpc_service: { envoy_grpc: { cluster_name: 'dummy' }, timeout: '10s' },
  failure_mode_allow: true,
  message_timeout: '1000s',
  processing_mode: { request_header_mode: 'SKIP', response_header_mode: 'SKIP' },
});

export const filterOff: Edit = set([...CONNECTION_MANAGER, 'http_filters', 0, 'disabled'], true);

/** The filter of another server, before the picker's. */
export const otherFilterFirst: Edit = (config) => {
  const picker = config.getIn([...CONNECTION_MANAGER, 'http_filters', 0]);
  const other = {
    name: 'semantic-router',
    typed_config: {
      '@type': `${FILTERS}.ExternalProcessor`,
      grpc_service: { envoy_grpc: { cluster_name: 'semantic_router' } },
      processing_mode: { request_body_mode: 'BUFFERED', response_body_mode: 'BUFFERED' },
    },
  };
  config.setIn([...CONNECTION_MANAGER, 'http_filters', 0], config.createNode(other));
  config.addIn(
    [...CONNECTION_MANAGER, 'http_filters'],
    config.getIn([...CONNECTION_MANAGER, 'http_filters', 1]),
  );
  config.setIn([...CONNECTION_MANAGER, 'http_filters', 1], picker);
};

/** What a route, or what is around it, says about the filter. */
export function settings(overrides: Readonly<Record<string, unknown>>): object {
  return { [NAME]: { '@type': `${FILTERS}.ExtProcPerRoute`, overrides } };
}

/** The same in the envelope that Envoy has for any filter, as Envoy Gateway writes it. */
export function inEnvelope(overrides?: Readonly<Record<string, unknown>>): object {
  const config = { '@type': `${FILTERS}.ExtProcPerRoute`, overrides };
  const envelope = { '@type': `${CONFIG}.route.v3.FilterConfig` };
  return { [NAME]: { ...envelope, config: overrides === undefined ? {} : config } };
}

export const routes = (...all: readonly object[]): Edit =>
  set(
    [...HOST, 'routes'],
    all.map((route) => ({ match: { prefix: '/' }, ...route })),
  );

export const hostSettings = (ofHost: object): Edit =>
  set([...HOST, 'typed_per_filter_config'], ofHost);

/** A configuration of Envoy that comes by xDS, from files that can be replaced. */
export class FilesForEnvoy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pointsman-xds-'));
  readonly bootstrap: string;

  constructor(configYaml: string) {
    const { admin, static_resources: given } = parse(configYaml);
    const [listener] = given.listeners;
    const [{ typed_config: manager }] = listener.filter_chains[0].filters;
    const routesOf = manager.route_config;
    delete manager.route_config;
    manager.rds = { route_config_name: routesOf.name, config_source: this.#source('rds') };
    this.#put('rds', [{ '@type': `${CONFIG}.route.v3.RouteConfiguration`, ...routesOf }]);
    this.#put(
      'cds',
      given.clusters.map((each: object) => ({ '@type': `${CONFIG}.cluster.v3.Cluster`, ...each })),
    );
    this.#put('lds', [{ '@type': `${CONFIG}.listener.v3.Listener`, ...listener }]);
    const dynamic = { lds_config: this.#source('lds'), cds_config: this.#source('cds') };
    const node = { id: 'envoy-of-a-test', cluster: 'tests' };
    this.bootstrap = stringify({ node, admin, dynamic_resources: dynamic });
  }

  #source(name: Resource): object {
    return { path_config_source: { path: this.#path(name) }, resource_api_version: 'V3' };
  }

  /** Envoy reads a file that is moved into place. */
  #put(name: Resource, resources: readonly unknown[]): void {
    this.#write(name, stringify({ version_info: '1', resources }));
  }

  replace(name: Resource, before: string, after: string): void {
    const text = readFileSync(this.#path(name), 'utf8');
    if (!text.includes(before)) throw new Error(`${name} has no ${before}`);
    this.#write(name, text.replace(before, after));
  }

  #write(name: Resource, text: string): void {
    writeFileSync(`${this.#path(name)}.new`, text);
    renameSync(`${this.#path(name)}.new`, this.#path(name));
  }

  #path(name: Resource): string {
    return join(this.#folder, `${name}.yaml`);
  }
}

type Resource = 'lds' | 'cds' | 'rds';
