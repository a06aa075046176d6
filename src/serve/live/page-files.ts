import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { packageFile } from '../../files/folders.ts';
import type { AdminFile } from '../admin/admin-routes.ts';

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

/**
 * The page's own style sheets, in `ui`. Where two rules are of equal weight the later sheet counts,
 * so that the one for narrow screens is last.
 */
const OWN_STYLES: readonly string[] = [
  'page.css',
  'charts.css',
  'tables.css',
  'decisions.css',
  'parts.css',
  'narrow.css',
];

/** The page's own files, in `ui`. */
const OWN: Readonly<Record<string, string>> = {
  'main.js': SCRIPT,
  'app.js': SCRIPT,
  'chart-keys.js': SCRIPT,
  'chart-options.js': SCRIPT,
  'charts.js': SCRIPT,
  'connection.js': SCRIPT,
  'decisions.js': SCRIPT,
  'documents.js': SCRIPT,
  'explained.js': SCRIPT,
  'format.js': SCRIPT,
  'headroom.js': SCRIPT,
  'left-out.js': SCRIPT,
  'page.js': SCRIPT,
  'pager.js': SCRIPT,
  'picker-health.js': SCRIPT,
  'pool-columns.js': SCRIPT,
  'pool-table.js': SCRIPT,
  'refused.js': SCRIPT,
  'replicas.js': SCRIPT,
  'restarts.js': SCRIPT,
  'state.js': SCRIPT,
  'table-card.js': SCRIPT,
  'terms.js': SCRIPT,
  'waiting.js': SCRIPT,
  ...Object.fromEntries(OWN_STYLES.map((name) => [name, STYLE])),
};

/** Files of packages: the package, the file in it, and the name by which the page imports it. */
const FROM_PACKAGES: Readonly<Record<string, PackagedFile>> = {
  'preact.js': { name: 'preact', file: 'dist/preact.mjs', imported: 'preact' },
  'hooks.js': { name: 'preact', file: 'hooks/dist/hooks.mjs', imported: 'preact/hooks' },
  'uplot.js': { name: 'uplot', file: 'dist/uPlot.esm.js', imported: 'uplot' },
  'uplot.css': { name: 'uplot', file: 'dist/uPlot.min.css', type: STYLE },
  'eventsource-parser.js': {
    name: 'eventsource-parser',
    file: 'dist/index.js',
    imported: 'eventsource-parser',
  },
};

interface PackagedFile {
  readonly name: string;
  readonly file: string;
  readonly imported?: string;
  readonly type?: string;
}

const PAGE = '/ui';

/** No resource of elsewhere, no frame around the page, and no script but these files. */
function policyFor(inlineScript: string): string {
  const hash = createHash('sha256').update(inlineScript).digest('base64');
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The files of the live page, by path, each read when it is first asked for. */
export function pageFiles(): ReadonlyMap<string, AdminFile> {
  const files = new Map<string, AdminFile>([[PAGE, pageFile()]]);
  for (const [name, contentType] of Object.entries(OWN)) {
    files.set(`${PAGE}/${name}`, fileAt(packageFile(join('ui', name)), contentType));
  }
  for (const [name, { name: packageName, file, type = SCRIPT }] of Object.entries(FROM_PACKAGES)) {
    files.set(`${PAGE}/${name}`, fileAt(join(folderOf(packageName), file), type));
  }
  return files;
}

function folderOf(packageName: string): string {
  const { resolve } = createRequire(import.meta.url);
  return dirname(resolve(`${packageName}/package.json`));
}

function fileAt(path: string, contentType: string): AdminFile {
  let bytes: Uint8Array | undefined;
  return { contentType, headers: {}, bytes: () => (bytes ??= readFileSync(path)) };
}

function pageFile(): AdminFile {
  const imported = Object.entries(FROM_PACKAGES).flatMap(([file, { imported: name }]) =>
    name === undefined ? [] : [[name, `./ui/${file}`] as const],
  );
  const importMap = JSON.stringify({ imports: Object.fromEntries(imported) });
  const bytes = Buffer.from(pageText(importMap));
  const headers = {
    'content-security-policy': policyFor(importMap),
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  };
  return { contentType: 'text/html; charset=utf-8', headers, bytes: () => bytes };
}

function pageText(importMap: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Pointsman</title>
<link rel="icon" href="data:,">
${['uplot.css', ...OWN_STYLES].map((name) => `<link rel="stylesheet" href="ui/${name}">`).join('\n')}
<script type="importmap">${importMap}</script>
<script type="module" src="ui/main.js"></script>
</head>
<body><div id="app"><p class="loading">Connecting to the picker…</p></div></body>
</html>
`;
}
