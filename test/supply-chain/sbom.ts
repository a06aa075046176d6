import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { z } from 'zod';

/**
 * `npm run sbom`: lists what is shipped, with versions and licenses, as CycloneDX in
 * `dist/sbom.cdx.json`, which is part of the package. Needs no network. Exits 1 if npm finds
 * the installed packages incomplete.
 */

const root = dirname(dirname(import.meta.dirname));
const path = join(root, 'dist', 'sbom.cdx.json');
const LIST_MS = 60_000;
const BYTES_MAX = 64 * 1024 * 1024;

const bom = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ name: z.string() }) }),
  components: z.array(z.looseObject({ name: z.string() })),
});

const { stdout, stderr, status } = spawnSync(
  'npm',
  ['sbom', '--sbom-format=cyclonedx', '--omit=dev'],
  { cwd: root, encoding: 'utf8', timeout: LIST_MS, maxBuffer: BYTES_MAX },
);
if (status === 0) {
  const listed = bom.parse(JSON.parse(stdout));
  // npm takes the name of the folder.
  listed.metadata.component.name = 'pointsman';
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(listed, undefined, 2)}\n`);
  const count = listed.components.length;
  process.stdout.write(`${relative(root, path)} lists ${count} packages that are shipped\n`);
} else {
  process.stderr.write(`the packages that are shipped cannot be listed:\n${stderr}`);
  process.exitCode = 1;
}
