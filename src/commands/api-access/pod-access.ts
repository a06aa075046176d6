import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { Agent } from 'undici';
import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';
import type { Millis } from '../../framework/runtime.ts';

/** Where Kubernetes puts the files of a pod's service account. */
const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Load balancers in front of API servers forget connections that are silent for a minute. */
const KEEP_ALIVE_MS: Millis = 30_000;

/**
 * How a pod reaches its API server, by its service account; undefined outside a pod. Kubernetes'
 * own client does the same, and takes a second of CPU and 60 MB to be loaded.
 */
export function podAccess(
  environment: NodeJS.ProcessEnv = process.env,
  folder: string = ACCOUNT_FOLDER,
): ApiAccess | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  const token = join(folder, 'token');
  if (!host || !port || !existsSync(token)) return undefined;
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    credentials: async () => {
      const read = [readFile(token, 'utf8'), readFile(join(folder, 'ca.crt'), 'utf8')] as const;
      const [bearer, ca] = await Promise.all(read);
      const connect = { ca, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
      const headers = { authorization: `Bearer ${bearer}` };
      return { headers, dispatcher: new Agent({ connect }) };
    },
  };
}
