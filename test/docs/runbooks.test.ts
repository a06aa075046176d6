import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';

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
