import { readFile } from 'node:fs/promises';
import { type KubeConfig, RequestContext } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';

/**
 * How the current context of a kubeconfig says that its API server is reached. The token in a
 * `tokenFile` comes before others, and is read for each connection, because it may be replaced.
 */
export function kubeconfigAccess(config: KubeConfig, tokenFile?: string): ApiAccess {
  const server = config.getCurrentCluster()?.server ?? '';
  return {
    server,
    credentials: async () => {
      const context = new RequestContext(server, 'GET');
      await config.applySecurityAuthentication(context);
      const dispatcher = context.getDispatcher() as unknown as Dispatcher | undefined;
      const headers = context.getHeaders();
      if (tokenFile === undefined) return { headers, dispatcher };
      const bearer = (await readFile(tokenFile, 'utf8')).trim();
      return { headers: { ...headers, Authorization: `Bearer ${bearer}` }, dispatcher };
    },
  };
}
