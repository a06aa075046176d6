import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, makeCacheFolder } from '../../src/files/writing/cache-folder.ts';
import { messageOf } from '../../src/framework/error.ts';

/** The last endpoint picker of the module that llm-d-router grew from. */
const MODULE = 'sigs.k8s.io/gateway-api-inference-extension';
const VERSION = 'v1.5.0';
/** The first build takes some CPU minutes: it has Kubernetes' client library in it. */
const BUILD_MS = 45 * 60_000;
const PROGRESS_MS = 30_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

export interface ReferenceEpp {
  readonly path: string;
  readonly version: string;
}

const run = promisify(execFile);

/**
 * The reference's endpoint picker, built once outside the tree from its Go module of this exact
 * version; or why there is none.
 */
export async function buildReferenceEpp(
  log: (line: string) => void,
): Promise<ReferenceEpp | { readonly unavailable: string }> {
  const folder = join(cacheFolder(), `reference-epp-${VERSION}`);
  const path = join(folder, 'epp');
  const version = `${MODULE} ${VERSION}`;
  if (existsSync(path)) return { path, version };
  try {
    log(`building the endpoint picker of ${version}, some minutes, once`);
    makeCacheFolder();
    await build(folder, log);
    return { path, version };
  } catch (error) {
    const why =
      error instanceof Error && 'code' in error && error.code === 'ENOENT'
        ? 'there is no `go` on PATH'
        : messageOf(error).slice(0, 2000);
    return { unavailable: `the endpoint picker of ${version} could not be built: ${why}` };
  }
}

async function build(folder: string, log: (line: string) => void): Promise<void> {
  // Built beside its place: an interrupted build must not look complete.
  const work = mkdtempSync(`${folder}.building-`);
  const startedAt = performance.now();
  const progress = setInterval(() => {
    log(`go build: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }, PROGRESS_MS);
  try {
    // A module of its own, which asks for exact versions only: no list of versions is needed.
    const lines = ['module pointsman/reference-epp', 'go 1.25.0', `require ${MODULE} ${VERSION}`];
    writeFileSync(join(work, 'go.mod'), `${lines.join('\n')}\n`);
    const args = ['build', '-mod=mod', '-p', '2', '-trimpath', '-o', 'epp', `${MODULE}/cmd/epp`];
    await run('go', args, {
      cwd: work,
      timeout: BUILD_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
      env: { ...process.env, CGO_ENABLED: '0' },
    });
    renameSync(work, folder);
  } finally {
    clearInterval(progress);
    rmSync(work, { recursive: true, force: true });
  }
}
