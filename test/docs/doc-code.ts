import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { allFiles } from '../house/source-tree.ts';

const root = dirname(dirname(import.meta.dirname));

/** Below the time limit of tests, so that a compiler that hangs is ended, and named. */
const COMPILER_MS = 280_000;

/** All Markdown files of the tree. */
export const PAGES: readonly string[] = allFiles().filter((path) => path.endsWith('.md'));
/** Pages about the present. CHANGELOG and decisions keep the names of their time. */
export const GUIDES: readonly string[] = PAGES.filter(
  (path) => !/^(?:CHANGELOG|docs\/decisions\/)/.test(path),
);

/** A fenced block of a Markdown file. */
export interface CodeBlock {
  readonly file: string;
  /** Line of the fence, from 1. */
  readonly line: number;
  readonly language: string;
  /** The words after the language on the fence, such as `fragment`; often empty. */
  readonly mark: string;
  readonly code: string;
}

/** All fenced blocks of a Markdown file, without their indentation. */
export function codeBlocks(file: string): readonly CodeBlock[] {
  const text = readFileSync(join(root, file), 'utf8');
  const fence = /^([ \t]*)```(\w*)[ \t]*(.*)\n([\s\S]*?)^\1```[ \t]*$/gm;
  return [...text.matchAll(fence)].map(
    ({ 1: indent = '', 2: language = '', 3: mark = '', 4: code = '', index }) => ({
      file,
      line: text.slice(0, index).split('\n').length,
      language,
      mark,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );
}

/** The only fenced block of a Markdown file in this language that contains this text. */
export function codeBlock(file: string, language: string, containing: string): string {
  const blocks = codeBlocks(file).filter(
    (block) => block.language === language && block.code.includes(containing),
  );
  const [block] = blocks;
  if (block === undefined || blocks.length > 1) {
    throw new Error(`${file} has ${blocks.length} ${language} blocks with ${containing}, not one`);
  }
  return block.code;
}

/** Runs TypeScript of a document as if it were in `folder`, and returns its exports. */
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

/**
 * Type-checks blocks with the options of the project, each as if it were in `folder`. The package
 * `pointsman` resolves to the sources. Returns the compiler's errors, each with its block.
 */
export async function typeErrors(
  blocks: readonly CodeBlock[],
  folder: string,
): Promise<readonly string[]> {
  const home = join(root, 'node_modules', `.doc-blocks-${process.pid}`);
  try {
    mkdirSync(home, { recursive: true });
    const files = blocks.map(({ code }, at) => {
      const path = join(home, `block-${at}.ts`);
      writeFileSync(path, code.replace(/(?<=from ')\.[^']+/g, fromFolder(home, folder)));
      return path;
    });
    const options = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        rootDir: root,
        isolatedDeclarations: false,
        declaration: false,
        paths: { pointsman: [join(root, 'src/index.ts')] },
      },
      files,
      include: [],
    };
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify(options));
    const tsc = fileURLToPath(import.meta.resolve('typescript/package.json'));
    const args = [
      join(dirname(tsc), 'bin/tsc'),
      '-p',
      home,
      '--pretty',
      'false',
      '--singleThreaded',
    ];
    const complaints = await complaintsOf(args, home);
    return complaints.map((line) => named(line, blocks));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** What the compiler prints; rejects where it does not end by itself. */
function complaintsOf(args: readonly string[], cwd: string): Promise<readonly string[]> {
  const options = { cwd, timeout: COMPILER_MS };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout) => {
      if (error === null) resolve([]);
      else if (error.killed === true) reject(new Error(`tsc did not end within ${COMPILER_MS} ms`));
      else resolve(stdout.trimEnd().split('\n'));
    });
  });
}

/** Replaces the place in `block-3.ts(2,5): error …` by the document and its line. */
function named(complaint: string, blocks: readonly CodeBlock[]): string {
  return complaint.replace(
    /^.*block-(\d+)\.ts\((\d+),(\d+)\)/,
    (_all, at: string, line: string) => {
      const block = blocks[Number(at)];
      return block === undefined ? complaint : `${block.file}:${block.line + Number(line)}`;
    },
  );
}

function fromFolder(home: string, folder: string): (specifier: string) => string {
  return (specifier) => relative(home, join(root, folder, specifier));
}

/** No package is found outside the tree, so every import becomes a file of the tree. */
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
