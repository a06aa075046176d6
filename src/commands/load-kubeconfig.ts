import type { KubeConfig } from '@kubernetes/client-node';
import { ConfigError } from '../framework/error.ts';

/** What Kubernetes' client assumes where nothing says how to reach an API server. */
const ASSUMED_SERVER = 'http://localhost:8080';

/**
 * How to reach the API server: by a kubeconfig, or as it is known in a pod, or by the user's own. Throws ConfigError, with
 * one sentence of what to put right.
 */
export async function loadKubeconfig(file: string | undefined): Promise<KubeConfig> {
  // Loaded when it is asked for: it is a large library.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  try {
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    const [why = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    throw kubeconfigError(
      file,
      `cannot be read (${why}): give a kubeconfig that kubectl takes, too`,
    );
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined || !URL.canParse(server)) {
    throw kubeconfigError(
      file,
      'has no current context with a cluster and its server: set one, as by kubectl config use-context',
    );
  }
  if (file === undefined && server === ASSUMED_SERVER) {
    throw kubeconfigError(
      file,
      'is not given, this is no pod of a cluster, and the user has no kubeconfig: give --kubeconfig <file>',
    );
  }
  return config;
}

function kubeconfigError(file: string | undefined, message: string): ConfigError {
  return new ConfigError('command line', [
    { path: file === undefined ? '--kubeconfig' : `--kubeconfig ${file}`, message },
  ]);
}
