import { Counter, type Registry } from 'prom-client';
import { makeTokenFile } from '../../files/token-file.ts';
import { ConfigError } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { limitedWarnings } from '../../runtime/limited-log.ts';
import type { Log } from '../../runtime/log.ts';
import { Access, type MetricsGuard, type Refusal } from './access.ts';
import type { AdminServerOptions } from './admin-server.ts';
import { BearerToken } from './bearer-token.ts';

const ADMIN = '--admin-token-file';
const METRICS = '--metrics-token-file';

/** Flags about who may use the metrics port. */
export interface AdminAccessOptions {
  /** The token for actions of the metrics port; without it there are none. Made if missing. */
  readonly adminTokenFile?: string | undefined;
  /** Answers `/debug` and actions also to other machines, with the token. */
  readonly adminRemote?: boolean | undefined;
  /** The token for `/metrics`; undefined lets everyone read it. */
  readonly metricsTokenFile?: string | undefined;
}

/**
 * Who may use the metrics port, and what is said of those who may not. Makes the administrators'
 * token if its file does not exist. Throws ConfigError for flags and files that cannot be used.
 */
export function adminAccess(
  { adminTokenFile, adminRemote: remote, metricsTokenFile }: AdminAccessOptions,
  {
    registry,
    clock,
    log,
  }: { readonly registry: Registry; readonly clock: Clock; readonly log: Log },
): Pick<AdminServerOptions, 'access' | 'onRefused'> {
  if (remote === true && adminTokenFile === undefined) {
    const message = `needs ${ADMIN}: other machines must give a token`;
    throw new ConfigError('command line', [{ path: '--admin-remote', message }]);
  }
  if (adminTokenFile !== undefined) makeTokenFile(adminTokenFile);
  const refused = new Counter({
    name: 'pointsman_admin_refused_total',
    help: 'Requests to the metrics port that were refused, by HTTP status.',
    labelNames: ['status'],
    registers: [registry],
  });
  for (const status of [401, 403]) refused.inc({ status }, 0);
  const warn = limitedWarnings(log, clock);
  return {
    access: new Access({
      adminToken: adminTokenFile === undefined ? undefined : new BearerToken(ADMIN, adminTokenFile),
      remote,
      metrics: metricsTokenFile === undefined ? undefined : tokenGuard(metricsTokenFile),
    }),
    onRefused: (path, { status, sentence }) => {
      refused.inc({ status });
      warn({ path, status, reason: sentence }, 'a request to the metrics port was refused');
    },
  };
}

function tokenGuard(path: string): MetricsGuard {
  const wanted = new BearerToken(METRICS, path);
  const refusal: Refusal = {
    status: 401,
    sentence: `this needs the token of ${METRICS}, as Authorization: Bearer …`,
  };
  return (token) => (wanted.accepts(token) ? undefined : refusal);
}
