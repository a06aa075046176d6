import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { LiveStack } from '../support/programs/live-stack.ts';
import { allCommands } from './reference-page.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

describe('docs/runbooks.md', () => {
  const runbooks = readFileSync(join(root, 'docs/runbooks.md'), 'utf8');
  const noDrills = new Set(['run', 'support', 'endpoint-fault']);
  const drills = readdirSync(join(root, 'test/drills'))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => basename(file, '.ts'))
    .filter((name) => !noDrills.has(name));

  const sections = runbooks.split(/^## /m).slice(1);
  it.each(sections.map((text) => [text.split('\n')[0], text]))(
    '[O58] names a drill or a command: %s',
    (_name, text) => {
      expect(text).toMatch(/^Drills? `|`(npx pointsman|curl|kubectl) /m);
    },
  );

  it.each(drills)('[O58] has a runbook for the drill %s', (drill) => {
    expect(runbooks).toMatch(new RegExp(`^Drills?[^.]* \`${drill}\``, 'm'));
  });
});

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

describe('[O241] the runbook of each alert names its metric and a command', () => {
  const text = readFileSync(join(root, 'deploy/alerts-rules.yaml'), 'utf8');
  const { groups } = parse(text) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  };
  const sections = readFileSync(join(root, 'docs/runbooks.md'), 'utf8').split(/^## /m).slice(1);
  const rules = groups.flatMap((group) => group.rules);
  it.each(rules)('$alert', ({ expr, annotations }) => {
    const [, anchor] = annotations.runbook_url.split('#');
    const runbook = sections.find(
      (each) => each.split('\n', 1)[0]?.toLowerCase().replaceAll(' ', '-') === anchor,
    );
    if (runbook === undefined)
      throw new Error(`docs/runbooks.md has no section #${anchor}: write it`);
    const metrics = expr.match(/\b(?:up|process_\w+|pointsman_\w+|llm_d_epp_\w+)\b/g) ?? [];
    const named = metrics.filter((metric) => runbook.includes(`\`${metric}\``));
    expect(named, `name one of ${metrics.join(', ')} in its section`).not.toEqual([]);
    expect(runbook, 'give a command that looks at it').toMatch(/`(npx pointsman|curl|kubectl|df) /);
  });
});

describe('[O242] the commands of runbooks and troubleshooting work', () => {
  const pages = ['runbooks', 'troubleshooting'].map((page) =>
    readFileSync(join(root, `docs/${page}.md`), 'utf8'),
  );
  const commands = [
    ...new Set(
      [...pages.join('\n').matchAll(/`((?:curl|npx pointsman) [^`]*)`/g)].map(
        ([, command = '']) => command,
      ),
    ),
  ];
  let stack: LiveStack;
  beforeAll(async () => {
    stack = await LiveStack.start();
    await stack.send(1);
  });
  afterAll(() => stack?.stop());

  it.each(commands.filter((command) => command.startsWith('curl')))('%s', async (command) => {
    const here = command.replace('127.0.0.1:9090', stack.admin).replaceAll('\\|', '|');
    expect(here).not.toBe(command);
    const pattern = / \| grep (?:-E )?(.*)$/.exec(here)?.[1]?.replaceAll("'", '');
    const [request = here] = here.split(' | ', 1);
    const { stdout } = await run('sh', ['-c', request.replace('curl', 'curl -sS')]);
    expect(stdout).not.toBe('');
    if (pattern === undefined) JSON.parse(stdout);
    // What only some pickers have, such as one with traces, is on the page of all metrics.
    else expect(stdout + metricsPage).toMatch(new RegExp(pattern));
  });

  const metricsPage = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  const known = new Map(allCommands().map(({ name, command }) => [name, command]));
  it.each(commands.filter((command) => command.startsWith('npx')))('%s', (command) => {
    const words = command.split(' ').slice(2);
    const found = known.get(words[0] ?? '') ?? known.get(words.slice(0, 2).join(' '));
    const flags = found?.options.map(({ long }) => long);
    expect(flags).toBeDefined();
    for (const [flag] of command.matchAll(/--[a-z-]+/g)) expect(flags).toContain(flag);
  });
});
