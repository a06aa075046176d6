import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError } from '../../framework/error.ts';
import { loadKubeconfig } from './load-kubeconfig.ts';

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
    const config = await loadKubeconfig(written('whole', WHOLE));
    expect(config.getCurrentCluster()?.server).toBe('https://api:6443');
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
    const refused = await loadKubeconfig(path).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ConfigError);
    const { issues } = refused as ConfigError;
    expect(issues.map(({ path: where }) => where)).toEqual([`--kubeconfig ${path}`]);
    expect(issues[0]?.message).toContain(remedy);
    expect(issues[0]?.message).not.toContain('\n');
  });

  it('[O249] that is not there is refused, and named', async () => {
    await expect(loadKubeconfig(join(folder, 'nowhere'))).rejects.toThrow(
      /nowhere: is not there: give a kubeconfig/,
    );
  });
});
