import type { KubeConfig } from '@kubernetes/client-node';
import { Agent, request } from 'undici';
import type { Manifest } from './manifest-tools.ts';

/**
 * Applies manifests like `kubectl apply --server-side`; with `dryRun` like `--dry-run=server`,
 * which makes every check of the API server and stores nothing. Sends manifests unchanged, because
 * the client library would drop fields that it does not know. Resolves to the server's complaints,
 * each with the name of its object.
 */
export async function applyAll(
  config: KubeConfig,
  manifests: readonly Manifest[],
  { dryRun }: { readonly dryRun: boolean },
): Promise<readonly string[]> {
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  const { server = '' } = config.getCurrentCluster() ?? {};
  const authorization = `Bearer ${config.getCurrentUser()?.token}`;
  const send = async (method: 'GET' | 'PATCH', path: string, body?: string): Promise<Answer> => {
    const type = body !== undefined && { 'content-type': 'application/apply-patch+yaml' };
    const headers = { authorization, accept: 'application/json', ...type };
    const options = { method, headers, dispatcher: agent, ...(body !== undefined && { body }) };
    const answer = await request(`${server}${path}`, options);
    return { ok: answer.statusCode < 300, body: (await answer.body.json()) as Answer['body'] };
  };
  const query = `fieldManager=test&force=true&fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`;
  const refused: string[] = [];
  try {
    for (const manifest of manifests) {
      const { kind, metadata } = manifest;
      const path = await pathOf(manifest, (root) => send('GET', root));
      const { ok, body } =
        path === undefined
          ? { ok: false, body: { message: 'the API server does not know the kind' } }
          : await send('PATCH', `${path}?${query}`, JSON.stringify(manifest));
      if (!ok) refused.push(`${kind} ${metadata.name}: ${body.message}`);
    }
  } finally {
    await agent.close();
  }
  return refused;
}

interface Answer {
  readonly ok: boolean;
  readonly body: {
    readonly message?: string;
    readonly resources?: readonly {
      readonly name: string;
      readonly kind: string;
      readonly namespaced: boolean;
    }[];
  };
}

/** Path of an object on the API server; undefined if the server does not know its kind. */
async function pathOf(
  { apiVersion, kind, metadata }: Manifest,
  discover: (root: string) => Promise<Answer>,
): Promise<string | undefined> {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { resources = [] } = (await discover(root)).body;
  const found = resources.find((each) => each.kind === kind && !each.name.includes('/'));
  if (found === undefined) return undefined;
  // kubectl also uses `default` for an object without a namespace.
  const within = found.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
  return `${root}${within}/${found.name}/${metadata.name}`;
}
