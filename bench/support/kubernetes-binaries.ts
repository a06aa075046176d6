import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, makeCacheFolder } from '../../src/files/writing/cache-folder.ts';
import { messageOf } from '../../src/framework/error.ts';

const run = promisify(execFile);

/** The API server with whose list and watch the informers are tested, and the store under it. */
const KUBERNETES = 'v1.36.3';
/** The version of its own modules: `v0.36.3`. */
const STAGING = KUBERNETES.replace('v1.', 'v0.');
const ETCD = 'v3.7.0';
const CACHE = join(cacheFolder(), `kubernetes-${KUBERNETES}-etcd-${ETCD}`);
/** The first build takes four CPU minutes. */
const BUILD_MS = 45 * 60_000;

export interface KubernetesBinaries {
  readonly apiServer: string;
  readonly etcd: string;
}

/** Binaries of an earlier build; undefined where there are none. */
export function builtKubernetes(): KubernetesBinaries | undefined {
  const binaries = places();
  return existsSync(binaries.apiServer) && existsSync(binaries.etcd) ? binaries : undefined;
}

function places(): KubernetesBinaries {
  return { apiServer: join(CACHE, 'kube-apiserver'), etcd: join(CACHE, 'etcd') };
}

/** A real kube-apiserver and etcd, built once outside the tree with Go; or why there are none. */
export async function buildKubernetes(
  log: (line: string) => void,
): Promise<KubernetesBinaries | { readonly unavailable: string }> {
  const binaries = places();
  if (builtKubernetes() !== undefined) return binaries;
  try {
    await run('go', ['version']);
  } catch {
    return { unavailable: 'there is no Go on PATH to build kube-apiserver with' };
  }
  try {
    makeCacheFolder(CACHE);
    if (!existsSync(binaries.etcd)) {
      log(`building etcd ${ETCD}, half a minute`);
      await build(binaries.etcd, ETCD_SOURCE, [['go.etcd.io/etcd/server/v3', ETCD]], []);
    }
    if (!existsSync(binaries.apiServer)) {
      log(`building kube-apiserver ${KUBERNETES}, about five minutes, once`);
      const replaced = await stagedModules();
      await build(
        binaries.apiServer,
        API_SERVER_SOURCE,
        [['k8s.io/kubernetes', KUBERNETES]],
        replaced,
      );
    }
    return binaries;
  } catch (error) {
    const why = messageOf(error);
    return { unavailable: `kube-apiserver could not be built: ${why.slice(0, 2000)}` };
  }
}

const ETCD_SOURCE = `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`;

const API_SERVER_SOURCE = `package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
`;

/** Modules that Kubernetes takes from its own tree and that are also published separately. */
async function stagedModules(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-go-'));
  try {
    writeFileSync(join(folder, 'go.mod'), 'module staged\n\ngo 1.26\n');
    const { stdout } = await run(
      'go',
      ['mod', 'download', '-json', `k8s.io/kubernetes@${KUBERNETES}`],
      { cwd: folder },
    );
    const { GoMod } = JSON.parse(stdout) as { readonly GoMod: string };
    const lines = readFileSync(GoMod, 'utf8').matchAll(/^\s*(k8s\.io\/\S+)\s+=>\s+\.\/staging/gm);
    return [...lines].map(([, module = '']) => module);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function build(
  binary: string,
  source: string,
  required: readonly (readonly [string, string])[],
  replaced: readonly string[],
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-go-'));
  try {
    const requires = required.map(([module, version]) => `require ${module} ${version}`);
    const replaces = replaced.map((module) => `replace ${module} => ${module} ${STAGING}`);
    const head = ['module pointsman/built', 'go 1.26', 'godebug default=go1.26'];
    writeFileSync(join(folder, 'go.mod'), `${[...head, ...requires, ...replaces].join('\n')}\n`);
    writeFileSync(join(folder, 'main.go'), source);
    const options = {
      cwd: folder,
      timeout: BUILD_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, CGO_ENABLED: '0' },
    };
    await run('go', ['mod', 'tidy'], options);
    const output = join(folder, 'built');
    await run(
      'go',
      ['build', '-p', '2', '-trimpath', '-ldflags', '-s -w', '-o', output, '.'],
      options,
    );
    // First beside its place: an interrupted build must not look complete.
    await run('cp', [output, `${binary}.new`]);
    renameSync(`${binary}.new`, binary);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
