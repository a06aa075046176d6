import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { allCommands } from '../docs/reference-page.ts';
import { PROGRAM } from '../support/programs/program.ts';

const script = (shell: string): string =>
  execFileSync(process.execPath, [PROGRAM, 'completion', shell], { encoding: 'utf8' });
const bash = script('bash');

/** What bash offers at the end of a line. */
function offered(...words: readonly string[]): readonly string[] {
  const line = ['pointsman', ...words].map((word) => `'${word}'`).join(' ');
  const asks = `${bash}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _pointsman; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', asks], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

describe('[O56] completion', () => {
  it('offers every command, and what each takes', () => {
    const top = allCommands().filter(({ name }) => !name.includes(' '));
    expect(offered('')).toEqual(expect.arrayContaining(top.map(({ name }) => name)));
    expect(offered('sim')).toEqual(['simulate']);
    expect(offered('shadow', '')).toEqual(expect.arrayContaining(['top', 'promote', 'demote']));
    expect(offered('shadow', 'top', '--o')).toEqual(['--once']);
    for (const { name, command } of allCommands()) {
      const longs = command.options.map(({ long }) => long);
      expect(offered(...name.split(' '), '--')).toEqual(expect.arrayContaining(longs));
    }
  });

  it('offers the values of an option that has some, and files elsewhere', () => {
    expect(offered('replay', '--api', '')).toEqual(['completions', 'chat']);
    expect(offered('simulate', '--trace', '')).toEqual(['']);
    expect(bash).toContain('complete -o default');
  });

  it('[O513] offers files where a command takes one, and its options after a hyphen', () => {
    for (const words of [['redecide'], ['trace', 'describe'], ['shadow', 'report']]) {
      expect(offered(...words, '')).toEqual(['']);
      expect(offered(...words, '--js').join()).toMatch(/^(--json)?$/);
      expect(offered(...words, '-')).toContain('--help');
    }
    expect(offered('explain', '')).toContain('--all');
  });

  it('[O521] offers built-in configurations, and files beside them, where one is taken', () => {
    for (const words of [
      ['serve', '--config'],
      ['serve', '--shadow'],
      ['simulate', '--trace', 'trace.jsonl', '--config'],
      ['redecide', 'day/', '--config'],
      ['check'],
    ]) {
      const all = offered(...words, '');
      expect(all).toEqual(expect.arrayContaining(['default', 'least-queue', 'package.json']));
      expect(offered(...words, 'reference-d')).toEqual(['reference-default']);
      expect(offered(...words, 'packa')).toContain('package.json');
      expect(offered(...words, '--js').join()).toMatch(/^(--json)?$/);
    }
    expect(offered('check', '-')).toContain('--help');
    expect(offered('check', '--plugin', '')).toEqual(['']);
    const fish = script('fish');
    expect(fish).toMatch(/-l config -r -a 'default reference-default .*' -d/);
    expect(fish).toMatch(/__fish_seen_subcommand_from check' -a 'default /);
  });

  it('has scripts for zsh and fish with the same commands and options', () => {
    expect(script('zsh')).toContain('bashcompinit');
    const fish = script('fish');
    for (const { name, command } of allCommands()) {
      expect(fish).toContain(`-a ${name.split(' ').at(-1)} `);
      for (const { long } of command.options) expect(fish).toContain(`-l ${long?.slice(2)} `);
    }
  });

  it('[O367] offers what an argument may be', () => {
    expect(offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  });

  it('[O367] works in a zsh that has not begun its own completion', () => {
    const zsh = script('zsh');
    expect(zsh.indexOf('compinit;')).toBeGreaterThan(0);
    expect(zsh.indexOf('compinit;')).toBeLessThan(zsh.indexOf('bashcompinit'));
  });

  it('[O367] offers in fish the values of an option, and a file where any text may stand', () => {
    const fish = script('fish');
    expect(fish).toContain("-l api -x -a 'completions chat' -d");
    expect(fish).toMatch(/-l trace -r -d/);
    expect(fish).toMatch(/-l closed-loop -d/);
  });

  it('refuses another shell', () => {
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'completion', 'tcsh'], {
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toContain('Allowed choices are bash, zsh, fish');
  });
});
