import type { KubeConfig } from '@kubernetes/client-node';
import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';
import { knownFileFault } from '../../files/file-fault.ts';
import { type ConfigError, commandLineError, messageOf } from '../../framework/error.ts';
import { needPackages } from '../../runtime/need-packages.ts';

/** The server that Kubernetes' client assumes where nothing names one. */
const ASSUMED_SERVER = 'http://localhost:8080';

/**
 * How to reach the API server: by this kubeconfig, otherwise by those of `KUBECONFIG`, otherwise by
 * the service account of the pod, otherwise by the user's kubeconfig. Throws ConfigError with one
 * sentence that says what to do.
 */
export async function loadApiAccess(
  file: string | undefined,
  environment: NodeJS.ProcessEnv = process.env,
  accountFolder?: string,
): Promise<ApiAccess> {
  if (file === undefined && !environment['KUBECONFIG']) {
    const { podAccess } = await import('./pod-access.ts');
    const access = podAccess(environment, accountFolder);
    if (access !== undefined) return access;
  }
  needPackages(file === undefined ? 'Kubernetes' : '--kubeconfig', ['@kubernetes/client-node']);
  // Loaded only when needed: it is a large library.
  const { KubeConfig } = await import('@kubernetes/client-node');
  const { kubeconfigAccess } = await import('./kubeconfig-access.ts');
  const config = new KubeConfig();
  load(config, file);
  const { defaultKubeconfigs, tokenFileOf } = await import('./kubeconfig-token.ts');
  const files = file === undefined ? defaultKubeconfigs(environment) : [file];
  return kubeconfigAccess(config, tokenFileOf(config.getCurrentUser()?.name ?? '', files));
}

function load(config: KubeConfig, file: string | undefined): void {
  try {
    if (file === undefined) config.loadFromDefault();
    else config.loadFromFile(file);
  } catch (error) {
    const known = knownFileFault(error);
    if (known !== undefined)
      throw kubeconfigError(file, `${known}: give a kubeconfig that kubectl accepts`);
    const [why = ''] = messageOf(error).split('\n');
    throw kubeconfigError(file, `cannot be read (${why}): give a kubeconfig that kubectl accepts`);
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined || !URL.canParse(server)) {
    throw kubeconfigError(
      file,
      'has no current context with the server of a cluster: set one with kubectl config use-context',
    );
  }
  if (file === undefined && server === ASSUMED_SERVER) {
    throw kubeconfigError(
      file,
      'is missing; this is not a pod, and the user has no kubeconfig: give --kubeconfig <file>',
    );
  }
}

function kubeconfigError(file: string | undefined, message: string): ConfigError {
  return commandLineError(file === undefined ? '--kubeconfig' : `--kubeconfig ${file}`, message);
}
