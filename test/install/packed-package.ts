import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { buildCheckout } from '../support/programs/build-checkout.ts';

const run = promisify(execFile);

const root = join(import.meta.dirname, '..', '..');
const PACK_MS = 120_000;
const INSTALL_MS = 240_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

export interface InstalledPackage {
  /** The folder with package.json and node_modules. */
  readonly folder: string;
  /** The folder of Pointsman in node_modules. */
  readonly home: string;
}

/**
 * Packs the sources as they are, with a build of their own, and installs the tarball with npm in an
 * empty folder, as a user does.
 */
export async function installPacked(): Promise<InstalledPackage> {
  const place = mkdtempSync(join(tmpdir(), 'pointsman-package-'));
  const checkout = join(place, 'checkout');
  const app = join(place, 'app');
  copySources(checkout);
  buildCheckout(checkout);
  const options = { timeout: PACK_MS, maxBuffer: OUTPUT_BYTES_MAX };
  const pack = ['pack', '--ignore-scripts', '--pack-destination', place];
  await run('npm', pack, { ...options, cwd: checkout });
  const tarball = readdirSync(place).find((name) => name.endsWith('.tgz')) ?? '';
  mkdirSync(app);
  await run('npm', ['init', '--yes'], { cwd: app, timeout: PACK_MS });
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', join(place, tarball)];
  await run('npm', install, { ...options, cwd: app, timeout: INSTALL_MS });
  return { folder: app, home: join(app, 'node_modules', 'pointsman') };
}

/** What package.json lists, and what the build reads. */
function copySources(to: string): void {
  const listed = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Package).files;
  const packed = listed.filter((path) => path !== 'dist' && !path.startsWith('!'));
  const read = ['package.json', 'README.md', 'LICENSE', 'src', 'scorers', 'stub-server'];
  const settings = readdirSync(root).filter((name) =>
    /^(?:tsconfig.*\.json|rolldown\.config\.js)$/.test(name),
  );
  mkdirSync(to);
  for (const path of new Set([...packed, ...read, ...settings])) {
    cpSync(join(root, path), join(to, path), {
      recursive: true,
      filter: (source) => basename(source) !== 'node_modules',
    });
  }
  symlinkSync(join(root, 'node_modules'), join(to, 'node_modules'));
}

interface Package {
  readonly files: readonly string[];
}
