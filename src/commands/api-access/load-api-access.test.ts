import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../framework/error.ts';
import { defaultKubeconfigs, tokenFileOf } from './kubeconfig-token.ts';
import { loadApiAccess } from './load-api-access.ts';

const folder = mkdtempSync(join(tmpdir(), 'pointsman-kubeconfig-'));
afterAll(() => rmSync(folder, { recursive: true }));

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const WHOLE = `
apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: 'https://api:6443' } }]
users: [{ name: u, user: { token: t } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`;

describe('a kubeconfig', () => {
  it('says where the API server is', async () => {
    const access = await loadApiAccess(written('whole', WHOLE));
    expect(access.server).toBe('https://api:6443');
  });

  it.each([
    ['is no YAML', 'junk: [', 'cannot be read'],
    ['is empty', '', 'cannot be read'],
    ['has no clusters', 'apiVersion: v1\nkind: Config\n', 'no current context'],
    ['has no current context', WHOLE.replace('current-context: x', ''), 'no current context'],
    [
      'names a context that is not there',
      WHOLE.replace('current-context: x', 'current-context: y'),
      'no current context',
    ],
    [
      'has a server that is none',
      WHOLE.replace('https://api:6443', 'nowhere'),
      'no current context',
    ],
  ])('that %s is refused in one sentence', async (what, text, remedy) => {
    const path = written(what.replaceAll(' ', '-'), text);
    const refused = await loadApiAccess(path).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    const { issues } = refused as ConfigError;
    expect(issues.map(({ path: where }) => where)).toEqual([`--kubeconfig ${path}`]);
    expect(issues[0]?.message).toContain(remedy);
    expect(issues[0]?.message).not.toContain('\n');
  });

  it('[B254] of KUBECONFIG goes before the account of the pod, which goes before all others', async () => {
    const account = mkdtempSync(join(folder, 'account-'));
    writeFileSync(join(account, 'token'), 't');
    const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
    const named = written('named', WHOLE);
    const of = async (file: string | undefined, environment: NodeJS.ProcessEnv): Promise<string> =>
      (await loadApiAccess(file, environment, account)).server;
    expect(await of(undefined, pod)).toBe('https://10.96.0.1:443');
    expect(await of(named, pod)).toBe('https://api:6443');
    // The client reads the variable of the process, whose file may be missing or another one.
    const byVariable = of(undefined, { ...pod, KUBECONFIG: named }).catch(() => 'not the pod');
    expect(await byVariable).not.toBe('https://10.96.0.1:443');
  });

  it('[D550] may name a file with the token of its user, which is read for each connection', async () => {
    const token = written('token', 'first\n');
    const user = 'user: { token: t, tokenFile: token }';
    const path = written('with-token-file', WHOLE.replace('user: { token: t }', user));
    const access = await loadApiAccess(path);
    const bearer = async (): Promise<unknown> => (await access.credentials()).headers;
    expect(await bearer()).toEqual({ Authorization: 'Bearer first' });
    writeFileSync(token, 'second');
    expect(await bearer()).toEqual({ Authorization: 'Bearer second' });
  });

  it('[D550] has the token of the first of several kubeconfigs that have the user', () => {
    const without = written('without', WHOLE);
    const other = written('other', WHOLE.replace('name: u,', 'name: other,'));
    const token = written('with', WHOLE.replace('token: t', 'tokenFile: /run/token'));
    expect(tokenFileOf('u', [other, token])).toBe('/run/token');
    expect(tokenFileOf('u', [without, token])).toBeUndefined();
    expect(tokenFileOf('u', [join(folder, 'nowhere')])).toBeUndefined();
    expect(defaultKubeconfigs({ KUBECONFIG: ['a', 'b'].join(delimiter) })).toEqual(['a', 'b']);
  });

  it('[O249] that is not there is refused, and named', async () => {
    await expect(loadApiAccess(join(folder, 'nowhere'))).rejects.toThrow(
      /nowhere: is not there: give a kubeconfig/,
    );
  });
});
