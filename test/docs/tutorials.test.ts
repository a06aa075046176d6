import { spawn } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually } from '../../bench/support/stack.ts';
import { isLong } from '../support/long-runs.ts';
import { PROGRAM } from '../support/programs/program.ts';

/**
 * Runs the commands of docs/tutorials line by line, as a reader would paste them, and compares what
 * they print with what the document shows. Three things differ from a reader's machine: ports are
 * moved, because others may use them; `npx pointsman` runs the sources; `npm ci` does nothing.
 */

const root = dirname(dirname(import.meta.dirname));
const folder = join(root, 'docs/tutorials');
/** The others take one and a half minutes: `npm run test:tutorials` and `npm run test:long`. */
const tutorials = readdirSync(folder).filter(
  (file) => file.endsWith('.md') && (isLong || file === 'first-decision.md'),
);
const envoy = await envoyBinary();
const work = mkdtempSync(join(tmpdir(), 'pointsman-tutorials-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** Ports that the documents and the files in `deploy` name. */
const PORTS: readonly number[] = [8000, 8001, 8002, 8081, 9002, 9003, 9090, 9091, 19_000];
const PORT = new RegExp(String.raw`(?<![\d.])(${PORTS.join('|')})(?!\d)`, 'g');

interface Step {
  readonly commands: string;
  /** Lines that must come in this order; `…` stands for anything. */
  readonly shown: readonly string[];
}

function stepsOf(file: string): readonly Step[] {
  const blocks = [
    ...readFileSync(join(folder, file), 'utf8').matchAll(/^```(sh|text)\n(.*?)^```$/gms),
  ];
  return blocks.flatMap(([, kind, text = ''], at) => {
    if (kind !== 'sh') return [];
    const [, next, shown = ''] = blocks[at + 1] ?? [];
    return [{ commands: text, shown: next === 'text' ? shown.trimEnd().split('\n') : [] }];
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** How far to move the ports so that all are free. */
async function freeShift(): Promise<number> {
  for (let shift = 12_000 + (process.pid % 7) * 1000; shift < 24_000; shift += 137) {
    const free = await Promise.all(PORTS.map((port) => isFree(port + shift)));
    if (free.every(Boolean)) return shift;
  }
  throw new Error('no ports are free');
}

const moved = (text: string, by: number): string =>
  text.replaceAll(PORT, (port) => String(Number(port) + by));
const movedBack = (text: string, by: number): string =>
  PORTS.reduce((all, port) => all.replaceAll(String(port + by), String(port)), text);

/** Has a line for each group of processes that the commands of a place have started. */
const groupsFile = (place: string): string => join(place, '.shims', 'groups');

/** The groups of processes that have not ended, after they got `signal`; 0 only asks. */
function livingGroups(place: string, signal: 0 | 'SIGKILL'): readonly string[] {
  const groups = readFileSync(groupsFile(place), 'utf8').trim().split('\n');
  return groups.filter((group) => {
    try {
      return process.kill(-Number(group), signal);
    } catch {
      return false;
    }
  });
}

/** A folder that looks like the repository, with shims for what a test must not do. */
async function makePlace(name: string, shift: number): Promise<string> {
  const place = join(work, name);
  await mkdir(join(place, '.shims'), { recursive: true });
  for (const entry of ['bench', 'docs', 'node_modules', 'package.json', 'scorers', 'src']) {
    symlinkSync(join(root, entry), join(place, entry));
  }
  await cp(join(root, 'deploy'), join(place, 'deploy'), { recursive: true });
  for (const file of readdirSync(join(place, 'deploy')).filter((each) => each.endsWith('.yaml'))) {
    const path = join(place, 'deploy', file);
    writeFileSync(path, moved(readFileSync(path, 'utf8'), shift));
  }
  const shim = (command: string, script: string): void =>
    writeFileSync(join(place, '.shims', command), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  shim('npm', 'echo "npm $*: not run by the test"');
  // Like npx, it is a shell in between, which passes no signal on.
  shim('npx', `echo $$ >> ${groupsFile(place)}; shift; "${process.execPath}" "${PROGRAM}" "$@"`);
  if (envoy !== undefined) symlinkSync(envoy, join(place, '.shims/envoy'));
  return place;
}

/** Adds the ports that a reader's commands have by default, where the document names none. */
function withPorts(commands: string, shift: number): string {
  const defaults: readonly (readonly [RegExp, string])[] = [
    [/pointsman serve (?!.*--extproc-port)/g, `pointsman serve --extproc-port ${9002 + shift} `],
    [
      /pointsman gateway /g,
      `pointsman gateway --port ${8081 + shift} --picker 127.0.0.1:${9002 + shift} `,
    ],
    [/pointsman (explain|shadow \w+)(?![\w-])/g, `pointsman $1 --admin 127.0.0.1:${9090 + shift}`],
  ];
  const joined = commands.replaceAll('\\\n', ' ');
  const withMetrics = joined.replaceAll(
    /pointsman serve (?!.*--metrics-port)/g,
    `pointsman serve --metrics-port ${9090 + shift} `,
  );
  return defaults.reduce((text, [from, to]) => text.replaceAll(from, to), withMetrics);
}

/** Runs steps in one shell. The output of each, with the ports of the document. */
async function play(
  steps: readonly Step[],
  place: string,
  shift: number,
): Promise<readonly string[]> {
  const mark = (at: number): string => `../step ${at}../`;
  const script = [
    // As in a terminal: each job is a group of processes.
    'set -m',
    `trap 'echo "../failed: $BASH_COMMAND"' ERR`,
    ...steps.flatMap(({ commands }, at) => [
      `echo; echo '${mark(at)}'`,
      withPorts(moved(commands, shift), shift),
    ]),
    'wait; exit 0',
  ].join('\n');
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: place,
    detached: true,
    env: {
      ...process.env,
      PATH: `${join(place, '.shims')}${delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  const pieces: string[] = [];
  shell.stdout.on('data', (piece: Buffer) => void pieces.push(piece.toString()));
  shell.stderr.on('data', (piece: Buffer) => void pieces.push(piece.toString()));
  shell.stdin.end(script);
  await new Promise((resolve) => shell.once('close', resolve));
  const output = movedBack(pieces.join(''), shift);
  return steps.map((_, at) => output.split(mark(at))[1]?.split('../step')[0] ?? '');
}

/** The first line that is shown and does not come; undefined where all come in order. */
function missingLine(output: string, shown: readonly string[]): string | undefined {
  const lines = output.split('\n').map((line) => line.replaceAll(/\s+/g, ' ').trim());
  let from = 0;
  return shown.find((line) => {
    const text = line.replaceAll(/\s+/g, ' ').trim();
    if (text === '') return false;
    const parts = text
      .split('…')
      .map((part) => part.trim().replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    const pattern = new RegExp(`^${parts.join('.*')}$`);
    const found = lines.findIndex((each, at) => at >= from && pattern.test(each));
    from = found + 1;
    return found < 0;
  });
}

const LIMIT_MS = 180_000;

describe.each(tutorials)('[O54] [O205] docs/tutorials/%s', (file) => {
  const steps = stepsOf(file);
  const needsEnvoy = steps.some(({ commands }) => /^envoy /m.test(commands));
  it.skipIf(needsEnvoy && envoy === undefined)(
    'does what it says, line by line, and its last command ends what it has started',
    async () => {
      const shift = await freeShift();
      const place = await makePlace(file, shift);
      const outputs = await play(steps, place, shift);
      try {
        // Pickers drain before they end.
        await eventually(
          () => Promise.resolve(livingGroups(place, 0)),
          (groups) => groups.length === 0,
        );
      } finally {
        livingGroups(place, 'SIGKILL');
      }
      for (const [at, { shown }] of steps.entries()) {
        const output = outputs[at] ?? '';
        expect(output).not.toContain('../failed');
        const missing = missingLine(output, shown);
        expect(missing, `a line of step ${at + 1} is missing in:\n${output}`).toBeUndefined();
      }
    },
    LIMIT_MS,
  );
});

describe('the first tutorial', () => {
  it('[O54] comes to an explained decision in five commands', () => {
    const [first] = stepsOf('first-decision.md');
    const commands = (first?.commands ?? '').replaceAll('\\\n', ' ').trim().split('\n');
    expect(commands).toHaveLength(5);
    expect(commands.at(-1)).toContain('npx pointsman explain');
  });
});
