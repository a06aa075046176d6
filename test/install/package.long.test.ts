import { execFile, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InstalledPackage, installPacked } from './packed-package.ts';

/** The package as npm installs it in an empty folder. */

const root = join(import.meta.dirname, '..', '..');
const INSTALLED_BYTES_MAX = 120e6;
const MADE_MS = 480_000;
/** Pages about the code say with this sentence that they link to what is not packed. */
const ABOUT_THE_CODE = /the npm package does not have these files/;

let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPacked();
}, MADE_MS);

afterAll(() => rmSync(dirname(installed.folder), { recursive: true, force: true }));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the installed command with npx and this Node first on PATH. Leaves out what npm warns of.
 */
async function npx(args: readonly string[], node = dirname(process.execPath)): Promise<Ran> {
  const system = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'));
  const env = { HOME: process.env['HOME'], PATH: [node, ...system].join(delimiter) };
  const done = await ran('npx', ['--no-install', 'pointsman', ...args], env);
  return { ...done, stderr: done.stderr.replace(/^npm (warn|notice).*\n/gm, '') };
}

function ran(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd: installed.folder, env, timeout: 60_000 };
    execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });
}

/** The folder of a Node that is too old for the sources, if the machine has one. */
function oldNodeFolder(): string | undefined {
  return (process.env['PATH'] ?? '').split(delimiter).find((folder) => {
    const { stdout } = spawnSync(join(folder, 'node'), ['--version'], { encoding: 'utf8' });
    return /^v(20|21)\./.test(stdout ?? '');
  });
}

/** What the files take on the disk, as `du` counts. */
function bytesOnDisk(path: string): number {
  const found = lstatSync(path);
  const own = found.blocks * 512;
  if (!found.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + bytesOnDisk(join(path, name)), own);
}

describe('the npm package, packed and installed in an empty folder', () => {
  test('[O100] takes at most 120 MB with all that it needs', () => {
    const packages = join(installed.folder, 'node_modules');
    expect(bytesOnDisk(packages)).toBeLessThan(INSTALLED_BYTES_MAX);
    for (const name of ['node', '@kubernetes', 'echarts', '@opentelemetry/resources']) {
      expect(existsSync(join(packages, name)), name).toBe(false);
    }
  });

  test('[O100] runs with npx: checks a configuration, and lists flags', async () => {
    const checked = await npx(['check', 'default']);
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    expect(checked.stdout).toContain('default');
    const helps = await Promise.all(['serve', 'stub'].map((command) => npx([command, '--help'])));
    expect(helps.map(({ code }) => code)).toEqual([0, 0]);
  });

  test('[O100] runs under Node 20 with the package `node` beside it', async () => {
    const old = oldNodeFolder();
    if (old === undefined) {
      process.stderr.write('SKIPPED: the package under Node 20. PATH has no Node 20.\n');
      return;
    }
    const refused = await npx(['check', 'default'], old);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('Run `npm install node@24` where Pointsman is installed');
    const brought = join(installed.folder, 'node_modules', 'node');
    mkdirSync(join(brought, 'bin'), { recursive: true });
    writeFileSync(join(brought, 'package.json'), '{"name":"node","version":"24.0.0"}');
    symlinkSync(process.execPath, join(brought, 'bin', 'node'));
    expect(await npx(['check', 'default'], old)).toMatchObject({ code: 0, stderr: '' });
    rmSync(brought, { recursive: true });
  });

  test.each([
    ['--report', 'echarts@6', 'simulate --trace t.jsonl --pool pool.yaml --report page.html'],
    ['--kubeconfig', '@kubernetes/client-node@2', 'serve --insecure --kubeconfig k --pool-name p'],
    [
      '--tracing',
      '@opentelemetry/resources@2',
      'serve --insecure --endpoints 127.0.0.1:9 --tracing',
    ],
  ])('[O101] %s names the line that installs %s', async (option, line, args) => {
    writeFileSync(join(installed.folder, 't.jsonl'), '');
    writeFileSync(join(installed.folder, 'pool.yaml'), 'servers: []\n');
    const { code, stderr } = await npx(args.split(' '));
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(option);
    expect(stderr).toContain('run npm install ');
    expect(stderr).toContain(line);
  });

  test('[O102] is a library, and its types hold in a strict nodenext project', async () => {
    writeFileSync(join(installed.folder, 'pick.mts'), PROGRAM);
    const tsc = join(root, 'node_modules', '.bin', 'tsc');
    const flags = ['--strict', '--module', 'nodenext', '--target', 'es2024', '--types', ''];
    const env = { PATH: process.env['PATH'] };
    const built = await ran(tsc, [...flags, 'pick.mts'], env);
    expect(built).toMatchObject({ code: 0, stdout: '' });
    const old = oldNodeFolder();
    const nodes = [process.execPath, ...(old === undefined ? [] : [join(old, 'node')])];
    const picked = await Promise.all(nodes.map((node) => ran(node, ['pick.mjs'], env)));
    const right = { code: 0, stdout: '10.0.0.2:8000\n10.0.0.2:8000\n', stderr: '' };
    expect(picked).toEqual(nodes.map(() => right));
  });

  test('[D200] its threads run, and give a plugin the same facts as the library', async () => {
    const traces = join('node_modules', 'pointsman', 'bench', 'traces');
    const trace = join(traces, 'mooncake-conversation-5min.jsonl');
    const lines = readFileSync(join(installed.folder, trace), 'utf8').split('\n').slice(0, 20);
    writeFileSync(join(installed.folder, 'short.jsonl'), lines.join('\n'));
    writeFileSync(join(installed.folder, 'plugin.mjs'), PLUGIN);
    writeFileSync(join(installed.folder, 'plugged.yaml'), PLUGGED);
    const pool = join('node_modules', 'pointsman', 'deploy', 'examples', 'pool.yaml');
    const files = ['--plugin', 'plugin.mjs', '--config', 'plugged.yaml', '--trace', 'short.jsonl'];
    const { code, stdout, stderr } = await npx(['simulate', ...files, '--pool', pool, '--json']);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('plugged');
  });

  test('[O103] the links of its documents work, but for pages about the code, which say so', () => {
    const pages = readdirSync(installed.home, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.md'),
    );
    expect(pages.length).toBeGreaterThan(40);
    const dead = pages.flatMap((page) => deadLinks(page).map((link) => `${page}: ${link}`));
    expect(dead).toEqual([]);
  });
});

const PROGRAM = `
import { createPicker, SimulatedClock, type EmbeddedPicker } from 'pointsman';

const clock = new SimulatedClock();
const picker: EmbeddedPicker = createPicker({ seed: 1, clock });
for (const id of ['10.0.0.1:8000', '10.0.0.2:8000']) picker.addEndpoint({ id });
picker.setMetrics('10.0.0.1:8000', { waitingQueueSize: 4, runningRequests: 40, kvCacheUsage: 0.9 });
picker.setMetrics('10.0.0.2:8000', { waitingQueueSize: 0, runningRequests: 2, kvCacheUsage: 0.1 });
const pick = picker.route({ model: 'llama', promptTokens: 192, blockIds: [1, 2, 3] });
console.log(pick.destinations[0]);
pick.done('completed');
const waited = await picker.enqueue({ model: 'llama', promptTokens: 192, blockIds: [1, 2, 3] });
console.log(waited.destinations[0]);
`;

/** Without the picker's own key there are no facts for it, and the run ends with an error. */
const PLUGIN = `
import { defineScorer, IN_FLIGHT } from 'pointsman';
import { z } from 'zod';

const mine = defineScorer({
  type: 'mine',
  config: z.strictObject({}),
  needs: () => [IN_FLIGHT],
  create: () => ({
    score: (endpoints, context) =>
      endpoints.map((endpoint) => 1 / (1 + context.get(IN_FLIGHT).load(endpoint).requests)),
  }),
});
export const plugins = { scorers: [mine] };
`;

const PLUGGED = `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{ type: mine }]
schedulingProfiles: [{ name: default, plugins: [{ pluginRef: mine, weight: 1 }] }]
`;

function deadLinks(page: string): readonly string[] {
  const text = readFileSync(join(installed.home, page), 'utf8');
  if (ABOUT_THE_CODE.test(text)) return [];
  const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    return !existsSync(join(installed.home, normalize(join(dirname(page), link))));
  });
}
