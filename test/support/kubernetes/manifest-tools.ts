import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { skipped } from '../../../bench/support/skipped.ts';
import { cacheFolder, makeCacheFolder } from '../../../src/files/writing/cache-folder.ts';
import { messageOf } from '../../../src/framework/error.ts';

const run = promisify(execFile);

const KUSTOMIZE = 'v5.8.2';
const HELM = 'v4.3.1';
const CACHE = join(cacheFolder(), `manifests-kustomize-${KUSTOMIZE}-helm-${HELM}`);
/** The first build takes some minutes on two slow cores. */
const BUILD_MS = 45 * 60_000;
const RENDER_MS = 60_000;
const RENDERED_BYTES_MAX = 16 * 1024 * 1024;

const PACKAGES = {
  kustomize: `sigs.k8s.io/kustomize/kustomize/v5@${KUSTOMIZE}`,
  helm: `helm.sh/helm/v4/cmd/helm@${HELM}`,
} as const;
type Tool = keyof typeof PACKAGES;

const pathOf = (tool: Tool): string => join(CACHE, tool);
const missing = (): readonly Tool[] =>
  (['kustomize', 'helm'] as const).filter((tool) => !existsSync(pathOf(tool)));

/** An object of a manifest. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/**
 * The tools that render manifests; undefined, with a message, if kustomize and helm are not built.
 */
export function manifestToolsOrSkip(): ManifestTools | undefined {
  if (missing().length === 0) return { overlay, chart };
  return skipped(
    'every test of the manifests in deploy/',
    'there is no kustomize and helm: `npm run test:kubernetes` builds them with Go, once',
  );
}

export interface ManifestTools {
  /** The objects that `kustomize build` renders from a folder. */
  overlay(folder: string): Promise<readonly Manifest[]>;
  /**
   * The objects that `helm template` renders from a chart for the release `rel`; rejects with its
   * message about wrong values.
   */
  chart(folder: string, namespace: string, flags: readonly string[]): Promise<readonly Manifest[]>;
}

async function overlay(folder: string): Promise<readonly Manifest[]> {
  return render('kustomize', ['build', folder]);
}

async function chart(
  folder: string,
  namespace: string,
  flags: readonly string[],
): Promise<readonly Manifest[]> {
  return render('helm', ['template', 'rel', folder, '--namespace', namespace, ...flags]);
}

async function render(tool: Tool, args: readonly string[]): Promise<readonly Manifest[]> {
  // Tests must not use the user's plugins and repositories.
  const own = { HELM_CACHE_HOME: CACHE, HELM_CONFIG_HOME: CACHE, HELM_DATA_HOME: CACHE };
  const env = { ...process.env, ...own };
  const options = { timeout: RENDER_MS, maxBuffer: RENDERED_BYTES_MAX, env };
  const { stdout } = await run(pathOf(tool), [...args], options);
  return parseAllDocuments(stdout)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Builds kustomize and helm with Go once, into a cache outside the tree. Returns why it cannot. */
export async function buildManifestTools(
  log: (line: string) => void,
): Promise<{ readonly unavailable: string } | undefined> {
  try {
    for (const tool of missing()) await build(tool, log);
    return undefined;
  } catch (error) {
    const why = messageOf(error);
    return { unavailable: `kustomize and helm could not be built: ${why.slice(0, 2000)}` };
  }
}

async function build(tool: Tool, log: (line: string) => void): Promise<void> {
  log(`building ${PACKAGES[tool]}, a few minutes, once`);
  makeCacheFolder(CACHE);
  // Built under another name first, so that an interrupted build does not look complete.
  const folder = mkdtempSync(`${pathOf(tool)}.building-`);
  try {
    const args = ['install', '-p', '2', '-trimpath', '-ldflags', '-s -w', PACKAGES[tool]];
    await run('go', args, {
      timeout: BUILD_MS,
      maxBuffer: RENDERED_BYTES_MAX,
      env: { ...process.env, CGO_ENABLED: '0', GOBIN: folder },
    });
    renameSync(join(folder, tool), pathOf(tool));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
