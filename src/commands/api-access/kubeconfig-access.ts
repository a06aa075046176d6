import { type KubeConfig, RequestContext } from '@kubernetes/client-node';
import type { Dispatcher } from 'undici';
import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';

/** How the current context of a kubeconfig says that its API server is reached. */
export function kubeconfigAccess(config: KubeConfig): ApiAccess {
  const server = config.getCurrentCluster()?.server ?? '';
  return {
    server,
    credentials: async () => {
      const context = new RequestContext(server, 'GET');
      await config.applySecurityAuthentication(context);
      const dispatcher = context.getDispatcher() as unknown as Dispatcher | undefined;
      return { headers: context.getHeaders(), dispatcher };
    },
  };
}
