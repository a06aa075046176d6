import { packageVersion } from '../../files/folders.ts';
import { firstOf } from '../../framework/values/first-of.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import type { ServeTls } from '../tls/start-tls.ts';

/** The most warnings that are logged: a file that a program wrote may have thousands. */
const WARNINGS_MAX = 20;
/** More would make the line hard to read; `/debug/endpoints` has all. */
const ADDRESSES_MAX = 8;

/** One line that says what serves: version, policy, TLS, ports and endpoints. */
export function logStart(
  options: ServeOptions,
  parts: {
    readonly picker: EndpointPicker;
    readonly tls: ServeTls;
    readonly ports: Readonly<Record<string, number | undefined>>;
  },
): void {
  const { log, policy, plan, observe, pool, admin, listen } = options;
  const { kubernetes } = pool;
  const { picker, tls, ports } = parts;
  const addresses = picker.pool.snapshot().map(({ address }) => address);
  const { namespace, name } = kubernetes?.pool ?? {};
  const start = {
    version: packageVersion(),
    policy,
    ...(observe === true && { observe }),
    tls: tls.description,
    ...ports,
    livePage: `${admin.metricsCertDir === undefined ? 'http' : 'https'}://${hereOf(listen.host)}:${ports['metricsPort']}/ui`,
    ...(name !== undefined && { inferencePool: `${namespace}/${name}` }),
    endpoints: addresses.length,
    addresses: addresses.slice(0, ADDRESSES_MAX),
  };
  log.info(start, 'serving');
  // The endpoints of a cluster come after the start, and readiness says when there are none.
  if (addresses.length > 0 || kubernetes !== undefined) return;
  const fate =
    plan.flowControl === undefined
      ? 'every request is refused with 503'
      : 'requests wait for the first one, as flow control lets them';
  log.warn({}, `there is no endpoint: ${fate}; ${picker.pool.whyEmpty ?? '/readyz says why'}`);
}

/** Where a browser of this machine finds what listens on `host`. */
function hereOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * A line for each warning of a configuration, and one that counts those beyond the first twenty.
 */
export function logWarnings(log: Pick<Log, 'warn'>, warnings: readonly string[]): void {
  const { shown, more } = firstOf(warnings, WARNINGS_MAX);
  for (const warning of shown) log.warn({ warning }, 'configuration');
  if (more > 0) log.warn({ more }, 'configuration: more warnings, which pointsman check lists');
}
