import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from '../../src/files/writing/cache-folder.ts';
import { installOnce, type ProgressLog } from '../../src/files/writing/install-once.ts';
import { messageOf } from '../../src/framework/error.ts';

/**
 * Builds and starts deploy/Dockerfile without a container engine: buildah builds it over a small
 * Debian of mmdebstrap with this Node, and unshare and chroot start what is inside.
 */

const run = promisify(execFile);

const SUITE = 'bookworm';
const BASE = join(cacheFolder(), `image-base-${SUITE}`);
const ROOT_FS = join(BASE, 'rootfs.tar');
const BASE_MS = 600_000;
const BUILD_MS = 1_200_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const root = join(import.meta.dirname, '..', '..');

/** Makes the base once, outside the tree. Returns why images cannot be built here. */
export async function prepareImageBase(log: ProgressLog): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'images are built by root only, with buildah and chroot';
  const missing = ['buildah', 'mmdebstrap', 'unshare'].find((tool) => !isThere(tool));
  if (missing !== undefined) return `images need ${missing}: apt-get install buildah mmdebstrap`;
  try {
    await installOnce({
      what: 'a base for images',
      folder: BASE,
      isInstalled: () => Promise.resolve(existsSync(ROOT_FS)),
      install: async (out) => {
        // Node needs libstdc++.
        const parts = ['--variant=essential', '--mode=root', '--include=libstdc++6', SUITE];
        await run('mmdebstrap', [...parts, join(out, 'rootfs.tar')], {
          timeout: BASE_MS,
          maxBuffer: OUTPUT_BYTES_MAX,
        });
      },
      log,
    });
    return undefined;
  } catch (error) {
    return `the base for images could not be made: ${messageOf(error).slice(0, 2000)}`;
  }
}

function isThere(tool: string): boolean {
  return spawnSync(tool, ['--version'], { stdio: 'ignore' }).error === undefined;
}

interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly ExposedPorts: Readonly<Record<string, unknown>>;
}

export interface BuiltImage {
  readonly config: ImageConfig;
  /** The folder with the files of the image. */
  readonly files: string;
  /**
   * Starts its entry point with these arguments on a read-only file system, by default as its user.
   */
  start(args: readonly string[], user?: string): ChildProcess;
  /** Starts another program of it in the same way. */
  startProgram(command: readonly string[]): ChildProcess;
  remove(): Promise<void>;
}

type Buildah = (args: readonly string[]) => Promise<string>;

/** Builds the image of the sources as they are. `prepareImageBase` comes before. */
export async function buildImage(labels: Readonly<Record<string, string>>): Promise<BuiltImage> {
  const place = mkdtempSync(join(tmpdir(), 'pointsman-image-'));
  const store = ['--root', join(place, 'store'), '--runroot', join(place, 'run')];
  const buildah: Buildah = async (args) => {
    const env = { ...process.env, BUILDAH_ISOLATION: 'chroot' };
    const options = { timeout: BUILD_MS, maxBuffer: OUTPUT_BYTES_MAX, env };
    return (await run('buildah', [...store, ...args], options)).stdout.trim();
  };
  const remove = async (): Promise<void> => {
    await buildah(['rm', '--all']);
    unmountAll(place);
    rmSync(place, { recursive: true, force: true });
  };
  try {
    const built = await buildIn(place, labels, buildah);
    return { ...built, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function buildIn(
  place: string,
  labels: Readonly<Record<string, string>>,
  buildah: Buildah,
): Promise<Omit<BuiltImage, 'remove'>> {
  await commitBase(join(place, 'base'), buildah);
  const context = join(place, 'context');
  await copyContext(context);
  const given = Object.entries({ BASE: 'localhost/base', ...labels });
  await buildah([
    'bud',
    '--network=host',
    '--tag=localhost/pointsman',
    ...given.flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...registryAccess(place),
    '--ignorefile',
    join(root, 'deploy/Dockerfile.dockerignore'),
    '--file',
    join(root, 'deploy/Dockerfile'),
    context,
  ]);
  const container = await buildah(['from', 'localhost/pointsman']);
  const files = await buildah(['mount', container]);
  const found = JSON.parse(await buildah(['inspect', '--type', 'image', 'localhost/pointsman']));
  const { config } = (found as { readonly OCIv1: { readonly config: ImageConfig } }).OCIv1;
  return {
    config,
    files,
    start: (args, user = config.User) => startInside(files, config, args, user),
    startProgram: (command) =>
      startInside(files, { ...config, Entrypoint: [] }, command, config.User),
  };
}

/** A Debian with this Node and the npm of the machine, as `localhost/base`. */
async function commitBase(folder: string, buildah: Buildah): Promise<void> {
  mkdirSync(folder);
  await run('tar', ['--extract', '--file', ROOT_FS, '--directory', folder]);
  const local = join(folder, 'usr/local');
  cpSync(process.execPath, join(local, 'bin/node'));
  const { stdout } = await run('npm', ['root', '--global']);
  const npm = [join(stdout.trim(), 'npm'), '/usr/lib/node_modules/npm'].find(existsSync) ?? '';
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  const container = await buildah(['from', 'scratch']);
  await buildah(['add', '--quiet', container, folder, '/']);
  await buildah(['config', '--env', `PATH=${PATH}`, container]);
  await buildah(['commit', '--quiet', '--rm', container, 'localhost/base']);
  rmSync(folder, { recursive: true });
}

/** What git knows and what it would add, without what it ignores. */
async function copyContext(to: string): Promise<void> {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await run('git', args, { cwd: root, maxBuffer: OUTPUT_BYTES_MAX });
  for (const path of stdout.split('\0').filter((each) => each !== '')) {
    if (!existsSync(join(root, path))) continue;
    mkdirSync(dirname(join(to, path)), { recursive: true });
    cpSync(join(root, path), join(to, path));
  }
}

/** The machine's way to the npm registry, with its settings, certificates and cache. */
function registryAccess(place: string): readonly string[] {
  const settings = join(place, 'npmrc');
  const own = join(homedir(), '.npmrc');
  writeFileSync(settings, existsSync(own) ? readFileSync(own, 'utf8') : '');
  appendFileSync(settings, '\nprefer-offline=true\n');
  const cache = join(homedir(), '.npm');
  const volumes = [
    `${settings}:/root/.npmrc:ro`,
    ...(existsSync('/etc/ssl/certs') ? ['/etc/ssl/certs:/etc/ssl/certs:ro'] : []),
    ...(existsSync(cache) ? [`${cache}:/root/.npm`] : []),
  ];
  return [
    ...volumes.flatMap((volume) => ['--volume', volume]),
    ...(process.env['NODE_EXTRA_CA_CERTS'] === undefined ? [] : ['--env', 'NODE_EXTRA_CA_CERTS']),
  ];
}

/** Ends what buildah keeps mounted below a folder, the innermost first. */
function unmountAll(folder: string): void {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const path of mounted.filter((each) => each.startsWith(folder)).toReversed()) {
    spawnSync('umount', [path]);
  }
}

/** The process is that of the entry point: it gets the signals. */
function startInside(
  files: string,
  { Entrypoint, Env, WorkingDir }: ImageConfig,
  args: readonly string[],
  user: string,
): ChildProcess {
  const script =
    'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc" && ' +
    'mount --bind /dev "$0/dev" && user=$1 && folder=$2 && shift 2 && ' +
    'exec chroot --userspec="$user" "$0" env --ignore-environment --chdir="$folder" "$@"';
  const command = [...Env, ...Entrypoint, ...args];
  const inside = ['--mount', 'sh', '-c', script, files, user, WorkingDir, ...command];
  return spawn('unshare', inside, { stdio: ['ignore', 'pipe', 'pipe'] });
}
