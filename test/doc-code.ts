import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(import.meta.dirname);

/** The one fenced block of a Markdown file that is in this language and contains this text. */
export function codeBlock(file: string, language: string, containing: string): string {
  const text = readFileSync(join(root, file), 'utf8');
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms');
  const blocks = [...text.matchAll(fence)].map(([, block = '']) => block);
  const found = blocks.filter((block) => block.includes(containing));
  const [block] = found;
  if (block === undefined || found.length > 1) {
    throw new Error(`${file} has ${found.length} ${language} blocks with ${containing}, not one`);
  }
  return block;
}

/** Runs TypeScript from a document as if it stood in `folder`, and gives what it exports. */
export async function runDocumented(
  code: string,
  folder: string,
): Promise<Readonly<Record<string, unknown>>> {
  const home = mkdtempSync(join(tmpdir(), 'pointsman-doc-'));
  try {
    const path = join(home, 'example.mjs');
    writeFileSync(path, stripTypeScriptTypes(code).replace(/(?<=from ')[^']+/g, absolute(folder)));
    return (await import(/* @vite-ignore */ pathToFileURL(path).href)) as Record<string, unknown>;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Out of the tree nothing resolves, so every import becomes a file; our own package is its sources. */
function absolute(folder: string): (specifier: string) => string {
  return (specifier) => {
    if (specifier.startsWith('.')) {
      return pathToFileURL(join(root, folder, specifier)).href;
    }
    return specifier === 'pointsman'
      ? pathToFileURL(join(root, 'src/index.ts')).href
      : pathToFileURL(fileURLToPath(import.meta.resolve(specifier))).href;
  };
}
