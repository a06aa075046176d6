import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { listedCommands } from '../../src/commands/output/command-list.ts';
import { EXAMPLES } from '../../src/commands/output/examples.ts';
import { allCommands } from '../docs/reference-page.ts';
import { LiveStack } from '../support/programs/live-stack.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { type ProgramRun, RunsInTurn } from '../support/programs/runs-in-turn.ts';

const runs = new RunsInTurn();
afterAll(() => runs.stop());

const pointsman = (...args: readonly string[]): Promise<ProgramRun> => runs.run(args);

describe('[O185] help shows what a person looks for', () => {
  it('has the commands by what they are for, and the flags of serve in groups', async () => {
    const { stdout } = await pointsman('--help');
    expect(stdout).toMatch(/^Run:\n {2}serve /m);
    expect(stdout).toMatch(/^See what a running picker does, and why:\n {2}top /m);
    expect(stdout).not.toContain('\nCommands:\n');
    const { stdout: serve } = await pointsman('serve', '--help');
    expect(serve).toMatch(/^Configuration:\n {2}--config /m);
    expect(serve).toMatch(/^Model servers:\n {2}--endpoints /m);
    expect(serve).toMatch(/^Options:\n {2}-h, --help +display help for command\n$/m);
  });

  it('names no default that says nothing, and lists as they are typed', async () => {
    for (const command of ['serve', 'simulate', 'demo']) {
      const { stdout } = await pointsman(command, '--help');
      expect(stdout).not.toMatch(/default:\s+(?:false|none|\[|\{)/);
      expect(stdout).toMatch(/default:\s+\S/);
    }
    const { stdout } = await pointsman('demo', '--help');
    expect(stdout).toMatch(/default:\s+round-robin,reference-default,default\)/);
  });
});

describe('a command line that begins with empty words', () => {
  it.each([
    ['--pool-name=p', '--endpoint-selector=a=b'],
    ['serve', '--no-such-flag'],
  ])('[D629] is read as without them, such as %j', async (...words) => {
    const [plain, empty] = [await pointsman(...words), await pointsman('', ...words)];
    expect(empty).toEqual(plain);
    expect(plain.stderr).toMatch(/cannot be used with --pool-name|--no-such-flag/);
  });
});

describe('[D633] a switch', () => {
  it.each([
    ['--pool-name=p', '--kubeconfig=/no/such/file'],
    ['serve', '--pool-name=p', '--kubeconfig=/no/such/file'],
  ])('is on with an empty word behind it, such as %j', async (...words) => {
    const [plain, empty] = [
      await pointsman(...words, '--observe'),
      await pointsman(...words, '--observe', ''),
    ];
    expect(empty).toEqual(plain);
    expect(plain.code).toBeGreaterThan(0);
  });

  it.each([['--pool-name=p'], ['serve']])('takes no value otherwise: %s', async (first) => {
    const { code, stderr } = await pointsman(first, '--observe=false');
    expect(stderr).toContain("error: '--observe' takes no value: write it alone, or leave it out");
    expect(code).toBe(2);
  });
});

describe('[O467] the list of commands is read without loading them', () => {
  it('says of each what it says of itself', () => {
    const own = new Map<string, string>();
    for (const { name, command } of allCommands()) {
      const top = command.parent ?? command;
      own.set(name.split(' ')[0] ?? '', top.description());
    }
    const listed = listedCommands().map((each) => [each.name(), each.description()] as const);
    expect(new Map(listed)).toEqual(own);
    expect(listed).toHaveLength(own.size);
  });

  it('help of a command that is not there names the one that is like it', async () => {
    const { code, stderr } = await pointsman('help', 'tpo');
    expect(stderr).toContain("unknown command 'tpo'\n(Did you mean top?)");
    expect(code).toBe(2);
    const { stdout } = await pointsman('help', 'shadow', 'top');
    expect(stdout).toContain('Usage: pointsman shadow top');
  });
});

describe('[O238] help begins with a command line to paste', () => {
  const commands = allCommands();
  it.each(commands)('$name', ({ name, command }) => {
    const [first = ''] = EXAMPLES[name] ?? [];
    expect(first).toMatch(new RegExp(`^pointsman ${name}`));
    for (const line of EXAMPLES[name] ?? []) {
      expect(line.length).toBeLessThan(79);
      const known = command.options.map(({ long }) => long);
      for (const [flag] of line.matchAll(/--[a-z-]+/g)) expect(known).toContain(flag);
      const missing = command.options.filter(({ mandatory }) => mandatory);
      for (const { long } of missing) expect(line).toContain(long);
    }
  });

  it('is in the help, and in the error where something is missing', async () => {
    const { stdout } = await pointsman('sidecar', '--help');
    expect(stdout).toMatch(/^Usage: .*\n\n.*\n\n {2}pointsman sidecar --port 8000/);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const { stdout: formats } = await pointsman('trace', 'convert', '--help');
    for (const line of formats.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    const { stderr } = await pointsman('simulate');
    expect(stderr).toMatch(
      /required option '--trace <file>' .*\nfor example: pointsman simulate --trace/,
    );
  });
});

describe('[O186] [D565] a wrong command line says what to type next, in few lines', () => {
  it.each([
    [
      ['serve', '--port', '1'],
      /^error: unknown option '--port'\n\(Did you mean one of .*--metrics-port.*\)\n`pointsman serve --help` lists its options\n$/,
    ],
    [['serve', '--metrics-prot', '1'], /Did you mean --metrics-port\?/],
    [
      ['--poolName=p', '--extProcPort=9002'],
      /^error: unknown option '--extProcPort'\n\(Did you mean --extproc-port\?\)\n/,
    ],
    [['serve', '--endpoint', 'a:1'], /Did you mean one of --endpoints, --endpoints-file, /],
    [
      ['chek'],
      /^error: .*'chek'\n\(Did you mean check\?\)\n`pointsman --help` lists its commands\n$/,
    ],
    [['shadow', 'promot'], /`pointsman shadow --help` lists its commands\n$/],
    [
      ['scheduler', 'check', 'file.mjs'],
      /file\.mjs: is not an address: give unix:.* or host:port .*--plugin <file>/,
    ],
    [['--grpc-port', '9002'], /--pool-name: is missing: .*--endpoint-selector; .*--endpoints/],
    [
      ['--secure-serving=false', '--endpoint-selector', 'app=x'],
      /--endpoint-target-ports: is missing: give 1 to 8, such as 8000,8001/,
    ],
    [['check'], /--config: is missing; give a file, or a built-in configuration: default, ref/],
  ])('%j', async (args, said) => {
    const { code, stderr } = await pointsman(...args);
    expect(stderr).toMatch(said);
    expect(code).toBe(2);
  });
});

it('[O187] [O489] [O504] commands that ask a picker find that of this machine, and name what it runs without', async () => {
  const stack = await LiveStack.start();
  try {
    const doctor = await pointsman('doctor', '--admin', stack.admin);
    expect(doctor.stdout).toMatch(/looked at picker at \S+ with 4 endpoints/);
    const { stdout } = await pointsman('doctor', '--help');
    expect(stdout).toMatch(/127\.0\.0\.1:9090\s+where\s+nothing\s+else\s+is\s+asked\s+for/);
    const { code, stderr } = await pointsman('shadow', 'promotion', '--admin', stack.admin);
    expect(stderr).toMatch(/^this picker promotes nothing: start it with --shadow .* --promotion/);
    expect(code).toBe(1);
    for (const command of [['shadow', 'top'], ['top', '--once'], ['doctor']]) {
      const early = await pointsman(...command, '--admin-token-file', 'no/token');
      expect(early.stderr).toMatch(/^no\/token is not there; .* makes it when it starts\n$/);
      // As of each other file that is given and is not there.
      expect(early.code).toBe(2);
    }
  } finally {
    await stack.stop();
  }
});

it('[O244] a reader that has enough, such as `head`, ends a command without an error', async () => {
  const script = `"${process.execPath}" "${PROGRAM}" check default | true; echo "\${PIPESTATUS[0]}"`;
  expect(await promisify(execFile)('bash', ['-c', script])).toEqual({ stdout: '0\n', stderr: '' });
});
