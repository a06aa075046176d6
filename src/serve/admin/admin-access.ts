import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';
import { makeTokenFile } from '../../files/following/token-file.ts';
import { commandLineError } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { limitedWarnings } from '../../runtime/log/limited-log.ts';
import type { Log } from '../../runtime/log/log.ts';
import { Counter, type Registry } from '../../runtime/prom-client.ts';
import { Access, type AccessRefusal, type MetricsGuard } from './access.ts';
import type { AdminServerOptions } from './admin-server.ts';
import { BearerToken, tokenDigest } from './bearer-token.ts';
import { type Review, ReviewedTokens } from './reviewed-tokens.ts';

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
  /** Lets those read `/metrics` whom the API server allows to. Needs `kubernetes`. */
  readonly metricsEndpointAuth?: boolean | undefined;
  readonly kubernetes?: { readonly access: ApiAccess } | undefined;
}

/**
 * Who may use the metrics port, and what is said of those who may not. Makes the administrators'
 * token if its file does not exist. Throws ConfigError for flags and files that cannot be used.
 */
export function adminAccess(
  options: AdminAccessOptions,
  parts: AccessParts,
): Pick<AdminServerOptions, 'access' | 'onRefused'> {
  const { adminTokenFile, adminRemote: remote } = options;
  if (remote === true && adminTokenFile === undefined) {
    throw commandLineError('--admin-remote', `needs ${ADMIN}: other machines must give a token`);
  }
  if (adminTokenFile !== undefined) makeTokenFile(adminTokenFile);
  const adminToken =
    adminTokenFile === undefined ? undefined : new BearerToken(ADMIN, adminTokenFile);
  const metrics = metricsGuard(options, parts.clock);
  return { access: new Access({ adminToken, remote, metrics }), onRefused: refusalLog(parts) };
}

interface AccessParts {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Log;
}

/** Counts refused requests, and logs them. */
function refusalLog({ registry, clock, log }: AccessParts): AdminServerOptions['onRefused'] {
  const refused = new Counter({
    name: 'pointsman_admin_refused_total',
    help: 'Requests to the metrics port that were refused, by HTTP status.',
    labelNames: ['status'],
    registers: [registry],
  });
  for (const status of [401, 403]) refused.inc({ status }, 0);
  const warn = limitedWarnings(log, clock);
  return (path, { status, sentence }) => {
    refused.inc({ status });
    warn({ path, status, reason: sentence }, 'a request to the metrics port was refused');
  };
}

/** With a file and the API server, either may let a reader in. */
function metricsGuard(
  { metricsTokenFile, metricsEndpointAuth, kubernetes }: AdminAccessOptions,
  clock: Clock,
): MetricsGuard | undefined {
  const byFile = metricsTokenFile === undefined ? undefined : tokenGuard(metricsTokenFile);
  if (metricsEndpointAuth !== true) return byFile;
  if (kubernetes === undefined) {
    const message = 'needs --pool-namespace: the API server of the pool knows the tokens';
    throw commandLineError('--metrics-endpoint-auth', message);
  }
  const review = reviewBy(kubernetes.access);
  const { guard } = new ReviewedTokens({ review, keyOf: tokenDigest, clock });
  if (byFile === undefined) return guard;
  return (token) => (byFile(token) === undefined ? undefined : guard(token));
}

/** Loads what asks the API server for the first token. */
function reviewBy(access: ApiAccess): (token: string) => Promise<Review> {
  let loaded: Promise<(token: string) => Promise<Review>> | undefined;
  return async (token) => {
    loaded ??= import('./kubernetes-review.ts').then((module) => module.kubernetesReview(access));
    return (await loaded)(token);
  };
}

function tokenGuard(path: string): (token: string | undefined) => AccessRefusal | undefined {
  const wanted = new BearerToken(METRICS, path);
  const refusal: AccessRefusal = {
    status: 401,
    sentence: `this needs the token of ${METRICS}, as Authorization: Bearer …`,
  };
  return (token) => (wanted.accepts(token) ? undefined : refusal);
}
