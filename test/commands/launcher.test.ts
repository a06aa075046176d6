import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';

const root = dirname(dirname(import.meta.dirname));
const folders: string[] = [];
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

interface PackageOptions {
  /** Path of the package in a new folder; the folder itself if omitted. */
  readonly at?: string;
  /** Whether the npm package `node` is also installed. */
  readonly withNode?: boolean;
}

/** A package with the compiled launcher and these files. */
function makePackage(
  files: Readonly<Record<string, string>>,
  options: PackageOptions = {},
): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'pointsman-launcher-')));
  folders.push(folder);
  const home = join(folder, options.at ?? '.');
  const launcher = stripTypeScriptTypes(readFileSync(join(root, 'src', 'launcher.ts'), 'utf8'));
  const all = {
    'package.json': '{"name":"pointsman","type":"module"}',
    'dist/src/launcher.js': launcher,
    ...(options.withNode === true && { 'node_modules/node/package.json': '{"name":"node"}' }),
    ...files,
  };
  for (const [path, content] of Object.entries(all)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), content);
  }
  if (options.withNode === true) {
    mkdirSync(join(home, 'node_modules/node/bin'));
    symlinkSync(process.execPath, join(home, 'node_modules/node/bin/node'));
  }
  return home;
}

/** Makes the running Node report another version. */
function pretend(version: string): readonly string[] {
  const script =
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });` +
    `Object.defineProperty(process, 'version', { value: 'v${version}' });`;
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`];
}

interface LaunchOptions {
  readonly nodeArgs?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

function launch(
  home: string,
  { nodeArgs = [], args = [], env = process.env }: LaunchOptions = {},
): ChildProcess & {
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>;
} {
  const launcher = join(home, 'dist/src/launcher.js');
  const child = spawn(process.execPath, [...nodeArgs, launcher, ...args], { env });
  children.push(child);
  const ended = (async () => {
    const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const [code, stdout, stderr] = await Promise.all([
      exit,
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code, stdout, stderr };
  })();
  return Object.assign(child, { ended });
}

const prints = (what: string): string =>
  `console.log('${what}', process.argv.slice(2).join(' ')); process.exitCode = 3;`;

describe('launcher', () => {
  it('runs the sources of a checkout, with its arguments and exit code', async () => {
    const home = makePackage({
      'src/main.ts': `const what: string = 'sources'; ${prints('sources')}`,
      'dist/src/main.js': prints('build'),
    });
    const { code, stdout } = await launch(home, { args: ['serve', '--json'] }).ended;
    expect({ code, stdout }).toEqual({ code: 3, stdout: 'sources serve --json\n' });
  });

  it('runs the build of an installed package, where Node strips no types', async () => {
    const home = makePackage(
      { 'src/main.ts': prints('sources'), 'dist/src/main.js': prints('build') },
      { at: 'node_modules/pointsman' },
    );
    expect((await launch(home).ended).stdout).toBe('build \n');
  });

  it('starts the Node of the package if the machine’s Node is too old', async () => {
    const home = makePackage(
      { 'dist/src/main.js': 'console.log(process.versions.node); process.exitCode = 4;' },
      { withNode: true },
    );
    const { code, stdout } = await launch(home, { nodeArgs: pretend('20.20.2') }).ended;
    expect({ code, stdout }).toEqual({ code: 4, stdout: `${process.versions.node}\n` });
  });

  it.each([
    { set: 'none is', given: {}, used: '2' },
    { set: 'eight are', given: { MALLOC_ARENA_MAX: '8' }, used: '8' },
  ])('[B256] that Node gets $used arenas for memory where $set set', async ({ given, used }) => {
    const home = makePackage(
      { 'dist/src/main.js': 'console.log(process.env.MALLOC_ARENA_MAX);' },
      { withNode: true },
    );
    const { MALLOC_ARENA_MAX: _, ...rest } = process.env;
    const env = { ...rest, ...given };
    const { stdout } = await launch(home, { nodeArgs: pretend('20.20.2'), env }).ended;
    expect(stdout).toBe(`${used}\n`);
  });

  it('says what to do if there is no new enough Node', async () => {
    const home = makePackage({ 'dist/src/main.js': prints('build') });
    const launched = launch(home, { nodeArgs: pretend('22.17.9'), env: { PATH: home } });
    const { code, stdout, stderr } = await launched.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(
      'needs Node 22.18 or newer. This is v22.17.9, and PATH has no newer one',
    );
    expect(stderr).toContain('Run `npm install node@24`');
  });

  it('[O100] starts the first Node on PATH that is new enough', async () => {
    const home = makePackage({
      'dist/src/main.js': 'console.log(process.execPath); process.exitCode = 4;',
      'old/node': '#!/bin/sh\necho v20.20.2\n',
      'none/node': 'no program',
    });
    chmodSync(join(home, 'old/node'), 0o755);
    const folders = [join(home, 'none'), join(home, 'old'), dirname(process.execPath)];
    const env = { PATH: [...folders, '/usr/bin', '/bin'].join(delimiter) };
    const { code, stdout } = await launch(home, { nodeArgs: pretend('20.20.2'), env }).ended;
    expect({ code, stdout }).toEqual({ code: 4, stdout: `${process.execPath}\n` });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'passes %s on and ends with the command’s exit code',
    async (signal) => {
      const home = makePackage(
        {
          'dist/src/main.js':
            `process.on('${signal}', () => { console.log('draining'); process.exit(5); });` +
            `setInterval(() => {}, 1000); console.log('ready');`,
        },
        { withNode: true },
      );
      const child = launch(home, { nodeArgs: pretend('20.20.2') });
      child.stdout?.once('data', () => child.kill(signal));
      const { code, stdout } = await child.ended;
      expect({ code, stdout }).toEqual({ code: 5, stdout: 'ready\ndraining\n' });
    },
  );

  it('ends by the signal that ended its command', async () => {
    const home = makePackage(
      { 'dist/src/main.js': "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000);" },
      { withNode: true },
    );
    const child = launch(home, { nodeArgs: pretend('20.20.2') });
    const { code } = await child.ended;
    expect({ code, signal: child.signalCode }).toEqual({ code: null, signal: 'SIGTERM' });
  });
});
