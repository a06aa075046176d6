import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

/** The stage of deploy/Dockerfile that is started, not the one that builds. */
const image = readFileSync(join(import.meta.dirname, '../../deploy/Dockerfile'), 'utf8');
const started = image.slice(image.lastIndexOf('FROM '));

test('[D564] relative paths in arguments begin at the root, as in the reference’s image', () => {
  // The chart of model services gives `config/<file>` for what is mounted at /config.
  const folders = [...started.matchAll(/^WORKDIR (.*)$/gm)].map(([, folder]) => folder);
  expect(folders.at(-1)).toBe('/');
  const [, entry = ''] = /^ENTRYPOINT (.*)$/m.exec(started) ?? [];
  expect(JSON.parse(entry)).toEqual(['node', '/app/dist/src/main.js']);
});
