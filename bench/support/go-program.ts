import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, makeCacheFolder } from '../../src/files/writing/cache-folder.ts';
import { messageOf } from '../../src/framework/error.ts';

const BUILD_MS = 45 * 60_000;
const PROGRESS_MS = 30_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

const run = promisify(execFile);

/** A program of a published Go module. */
interface GoProgram {
  /** What it is, in words: `the endpoint picker`. */
  readonly title: string;
  /** The name of its folder in the cache, before the version. */
  readonly name: string;
  readonly module: string;
  readonly version: string;
  /** The folder of the program in the module; with `source`, the name that it gets. */
  readonly folder: string;
  /** The text of a `main.go` of our own, which uses packages of the module. */
  readonly source?: string;
  /** The version of Go that the module asks for. */
  readonly go: string;
}

export interface BuiltGoProgram {
  readonly path: string;
  /** Module and version, as in reports. */
  readonly version: string;
}

/**
 * Builds a program once, outside the tree, from the Go module of this exact version. Never throws:
 * where it cannot be built, `unavailable` has the reason. `log` gets a line at the start and every
 * 30 seconds.
 */
export async function buildGoProgram(
  program: GoProgram,
  log: (line: string) => void,
): Promise<BuiltGoProgram | { readonly unavailable: string }> {
  const folder = join(cacheFolder(), `${program.name}-${program.version}`);
  const built = join(folder, basename(program.folder));
  const version = `${program.module} ${program.version}`;
  if (existsSync(built)) return { path: built, version };
  try {
    log(`building ${program.title} of ${version}, some minutes, once`);
    makeCacheFolder();
    await build(program, folder, log);
    return { path: built, version };
  } catch (error) {
    return { unavailable: `${program.title} of ${version} could not be built: ${reason(error)}` };
  }
}

function reason(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
    return 'there is no `go` on PATH';
  }
  return messageOf(error).slice(0, 2000);
}

async function build(
  { name, module, version, folder: main, source, go }: GoProgram,
  folder: string,
  log: (line: string) => void,
): Promise<void> {
  // Built beside its place: an interrupted build must not look complete.
  const work = mkdtempSync(`${folder}.building-`);
  const startedAt = performance.now();
  const progress = setInterval(() => {
    log(`go build: ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }, PROGRESS_MS);
  try {
    // A module of its own, which asks for exact versions only: no list of versions is needed.
    const lines = [`module pointsman/${name}`, `go ${go}`, `require ${module} ${version}`];
    writeFileSync(join(work, 'go.mod'), `${lines.join('\n')}\n`);
    if (source !== undefined) writeFileSync(join(work, 'main.go'), source);
    const built = source === undefined ? `${module}/${main}` : '.';
    const output = ['-o', basename(main), built];
    await run('go', ['build', '-mod=mod', '-p', '2', '-trimpath', ...output], {
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
