import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LaunchOptions } from 'playwright-core';
import { isExecutable } from '../../src/files/reading/is-executable.ts';
import { cacheFolder } from '../../src/files/writing/cache-folder.ts';
import { installOnce, type ProgressLog } from '../../src/files/writing/install-once.ts';
import { messageOf } from '../../src/framework/error.ts';

const run = promisify(execFile);

/** Contains the binary, compressed; npm is all that is needed to get it. */
const PACKAGE = '@sparticuz/chromium';
const VERSION = '153.0.0';
const FOLDER = join(cacheFolder(), `chromium-${VERSION}`);
const BINARY = join(FOLDER, 'chromium');
/** Enough for a download of 66 MB over a slow connection. */
const INSTALL_TIMEOUT_MS = 240_000;
/** Unpacks the binary, its libraries and a font into the temporary folder. */
const UNPACK = `import chromium from '${PACKAGE}'; await chromium.executablePath();`;
const SYSTEM_FONTS = '/etc/fonts/fonts.conf';

type FetchedChromium = { readonly launch: LaunchOptions } | { readonly unavailable: string };

/**
 * How playwright starts a real Chromium: the one that POINTSMAN_CHROMIUM names, otherwise one that
 * npm installs once into the user's cache folder. Returns the reason if there is none.
 */
export async function fetchChromium(log: ProgressLog): Promise<FetchedChromium> {
  const named = process.env['POINTSMAN_CHROMIUM'];
  if (named !== undefined && named !== '') return usable(named);
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    const machine = `${process.platform} ${process.arch}`;
    return {
      unavailable: `npm has no Chromium for ${machine}; set POINTSMAN_CHROMIUM to a browser`,
    };
  }
  try {
    await installOnce({
      what: 'Chromium',
      folder: FOLDER,
      isInstalled: () => isExecutable(BINARY),
      install: (out, work) => install(out, work, log),
      log,
    });
    return await usable(BINARY);
  } catch (error) {
    const why = messageOf(error).slice(0, 2000);
    return { unavailable: `Chromium could not be installed: ${why}` };
  }
}

/** Chromium for tests: undefined with a message where there is none, and an error in CI. */
export async function chromiumOrSkip(what: string): Promise<LaunchOptions | undefined> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const fetched = await fetchChromium(log);
  if ('launch' in fetched) return fetched.launch;
  if (process.env['CI'] !== undefined) throw new Error(fetched.unavailable);
  log(`SKIPPED: ${what}. ${fetched.unavailable}`);
  return undefined;
}

async function install(out: string, work: string, log: ProgressLog): Promise<void> {
  const options = { cwd: work, timeout: INSTALL_TIMEOUT_MS };
  const quiet = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
  log(`installing Chromium, npm package ${PACKAGE} ${VERSION} (once, 66 MB) into ${FOLDER}`);
  await writeFile(join(work, 'package.json'), '{ "private": true }\n');
  await run('npm', ['install', ...quiet, `${PACKAGE}@${VERSION}`], options);
  log('unpacking Chromium (200 MB)');
  const env = { ...process.env, TMPDIR: out };
  await run(process.execPath, ['--input-type=module', '-e', UNPACK], { ...options, env });
  // The package's own file names folders of another system.
  await mkdir(join(out, 'fonts'), { recursive: true });
  await writeFile(join(out, 'fonts', 'fonts.conf'), fontsConf(join(FOLDER, 'fonts')));
}

function fontsConf(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}</dir><cachedir>${folder}/cache</cachedir></fontconfig>
`;
}

async function usable(executablePath: string): Promise<FetchedChromium> {
  const hasFonts = existsSync(SYSTEM_FONTS);
  const fonts = hasFonts ? {} : { FONTCONFIG_FILE: join(FOLDER, 'fonts', 'fonts.conf') };
  const env = { ...process.env, ...fonts };
  try {
    await run(executablePath, ['--version', '--no-sandbox'], { timeout: 30_000, env });
  } catch (error) {
    return { unavailable: `${executablePath} does not run on this machine: ${messageOf(error)}` };
  }
  // Test machines run as root, where the sandbox does not start.
  return { launch: { executablePath, args: ['--no-sandbox'], env, headless: true } };
}
