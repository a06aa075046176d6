import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { PROGRAM } from '../support/programs/program.ts';
import { type StartedProgram, startProgram } from '../support/programs/started-program.ts';

/** What operators do to the machine, and must not end what serves. */

const ON = ['--host', '127.0.0.1'];
const COMMANDS = [
  [
    'serve',
    [
      ...ON,
      '--insecure',
      '--extproc-port',
      '0',
      '--metrics-port',
      '0',
      '--endpoints',
      '127.0.0.1:9',
    ],
  ],
  ['gateway', [...ON, '--insecure', '--port', '0']],
  ['sidecar', [...ON, '--port', '0']],
] as const;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

describe.each(COMMANDS)('%s', (command, args) => {
  it('[V434] passes over signals for other programs, and opens no debugger', async () => {
    const program: StartedProgram<unknown> = await startProgram([command, ...args]);
    ends.push(() => program.child.kill('SIGKILL'));
    for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) program.child.kill(signal);
    // The first of those that count, and the last to arrive.
    await program.end('SIGINT');
    expect(await program.exited).toEqual([0, null]);
    expect(program.lines.join()).not.toContain('Debugger');
  });

  it('[V435] serves on where its log cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [PROGRAM, command, ...args, '--json'], {
      stdio: ['ignore', 'pipe', full],
    });
    closeSync(full);
    ends.push(() => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const first = once(child.stdout as Readable, 'data');
    expect(await Promise.race([first.then(() => 'serves'), exited])).toBe('serves');
    child.kill('SIGINT');
    expect(await exited).toEqual([0, null]);
  });
});
