import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseOptions } from '../../bench/support/parse-options.ts';
import { messageOf } from '../../src/framework/error.ts';
import {
  FOLDERS,
  IMAGE_TOOLS,
  releaseFaults,
  releaseSteps,
  type Step,
  versionOf,
} from './release-steps.ts';

/**
 * `npm run release -- v1.2.3`: makes npm package, list of packages (CycloneDX), Helm chart and
 * container image from a tag, with checksums, in one folder. It publishes nothing.
 */

const HELP = `npm run release -- <tag> [options]

Makes npm package, list of packages, Helm chart and container image from the files of a git tag,
and SHA256SUMS beside them. Publishes nothing.

  --to <folder>          where they go (release/<version>)
  --repository <folder>  the checkout with the tag (this one)
  --dry-run              check the tag and print the commands
`;
const TEXT_BYTES_MAX = 64 * 1024 * 1024;

const root = resolve(import.meta.dirname, '..', '..');
const { values, positionals } = parseOptions({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    to: { type: 'string' },
    repository: { type: 'string', default: root },
    'dry-run': { type: 'boolean', default: false },
  },
});

function git(...args: readonly string[]): Buffer {
  return execFileSync('git', ['-C', values.repository, ...args], {
    maxBuffer: TEXT_BYTES_MAX,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Whether a program is there and works: a client without its daemon is of no use. */
function works(tool: string, question: string): boolean {
  return spawnSync(tool, [question], { stdio: 'ignore' }).status === 0;
}

/** Throws an Error with all that does not fit. */
function checked(tag: string, version: string): void {
  const text = (path: string): string => git('show', `${tag}:${path}`).toString();
  const faults = releaseFaults(version, {
    packageJson: text('package.json'),
    chart: text('deploy/helm/pointsman/Chart.yaml'),
    changelog: text('CHANGELOG.md'),
  });
  if (faults.length > 0) throw new Error(`${tag} cannot be released:\n  ${faults.join('\n  ')}`);
}

function run({ makes, command: [program, ...args] }: Step): void {
  process.stderr.write(`${makes}: ${program} ${args.join(' ')}\n`);
  const { status, error } = spawnSync(program, args, { stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`${makes}: ${program} ended with exit code ${status}`);
}

/** The paths below the folder. */
function filesIn(folder: string): readonly string[] {
  return FOLDERS.flatMap((name) => readdirSync(join(folder, name)).map((file) => join(name, file)));
}

function writeSums(folder: string): void {
  const lines = filesIn(folder).map((path) => {
    const hash = createHash('sha256')
      .update(readFileSync(join(folder, path)))
      .digest('hex');
    return `${hash}  ${path}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
}

function revisionOf(tag: string): string {
  try {
    return git('rev-parse', '--verify', '--quiet', `refs/tags/${tag}^{commit}`).toString().trim();
  } catch {
    throw new Error(`${values.repository} has no tag ${tag}: make it with git tag first`);
  }
}

function release(tag: string): void {
  const version = versionOf(tag);
  if (version === undefined)
    throw new Error(`${tag} is no tag of a release: give one such as v1.2.3`);
  const revision = revisionOf(tag);
  checked(tag, version);
  const dry = values['dry-run'];
  const imageTool = IMAGE_TOOLS.find((tool) => works(tool, 'info'));
  const missing = [
    ...(works('helm', 'version') ? [] : ['helm']),
    ...(imageTool === undefined ? [IMAGE_TOOLS.join(' or ')] : []),
  ];
  if (missing.length > 0 && !dry) throw new Error(`a release needs ${missing.join(', and ')}`);
  const to = resolve(values.to ?? join('release', version));
  const checkout = dry ? '<checkout>' : mkdtempSync(join(tmpdir(), 'pointsman-release-'));
  const steps = releaseSteps({ version, revision, checkout, to, imageTool: imageTool ?? 'docker' });
  if (dry) {
    for (const { command } of steps) process.stdout.write(`${command.join(' ')}\n`);
    if (missing.length > 0) process.stderr.write(`not on this machine: ${missing.join(', ')}\n`);
    return;
  }
  try {
    mkdirSync(to, { recursive: true });
    if (readdirSync(to).length > 0) throw new Error(`${to} is not empty: give another --to`);
    for (const name of FOLDERS) mkdirSync(join(to, name));
    execFileSync('tar', ['-x', '-C', checkout], { input: git('archive', tag) });
    for (const step of steps) run(step);
    writeSums(to);
    for (const path of filesIn(to)) process.stdout.write(`${join(to, path)}\n`);
  } finally {
    rmSync(checkout, { recursive: true, force: true });
  }
}

const [tag] = positionals;
try {
  if (values.help || tag === undefined) process.stdout.write(HELP);
  else release(tag);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
