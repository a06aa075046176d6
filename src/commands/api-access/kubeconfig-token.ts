import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { readYaml } from '../../files/reading/read-yaml.ts';

const kubeconfig = z.object({
  users: z.array(
    z.object({ name: z.string(), user: z.object({ tokenFile: z.string() }).partial() }),
  ),
});

/**
 * The file with the token of a user, where one of these kubeconfigs names it in `tokenFile`, a field
 * that Kubernetes' client for Node does not read. The first kubeconfig with the user counts. Each of
 * them has been read before, by that client.
 */
export function tokenFileOf(user: string, kubeconfigs: readonly string[]): string | undefined {
  for (const path of kubeconfigs) {
    const { users = [] } = kubeconfig.safeParse(readYaml(textOf(path), path)).data ?? {};
    const found = users.find(({ name }) => name === user);
    if (found === undefined) continue;
    const { tokenFile } = found.user;
    return tokenFile === undefined ? undefined : resolve(dirname(path), tokenFile);
  }
  return undefined;
}

/** The kubeconfigs that count where none is given: those of `KUBECONFIG`, or the user's. */
export function defaultKubeconfigs(environment: NodeJS.ProcessEnv): readonly string[] {
  const named = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((each) => each !== '');
  return named.length > 0 ? named : [join(homedir(), '.kube', 'config')];
}

/** Empty where there is no file: then the client has found its configuration elsewhere. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
