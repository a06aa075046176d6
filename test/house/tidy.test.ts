import { basename, dirname } from 'node:path';
import { expect, it } from 'vitest';
import { scorers } from '../../scorers/index.ts';
import {
  expectNoFault,
  expectSameNames,
  fullFolderFault,
  longFileFault,
  ruleFaults,
  twoExportsFault,
} from './faults.ts';
import {
  allFiles,
  codeOnly,
  importsOf,
  reachedFrom,
  readText,
  sourceFiles,
} from './source-tree.ts';

/** The laws of this house that no linter knows; their text is in SPEC.md, section House. */

/** What begins somewhere else than in an import. */
const ENTRY_POINTS: readonly string[] = [
  'src/main.ts',
  'src/index.ts',
  'src/launcher.ts',
  'src/lab/simulate/worker.ts',
  'src/config/config-thread.ts',
  'src/endpoints/discovery/file/endpoints-thread.ts',
  'src/io-workers/io-worker.ts',
  'src/shadow/shadow-worker.ts',
  'ui/main.js',
];

/**
 * Where the outside world may never come in but through Runtime, whatever the lint configuration
 * says.
 */
const PURE_FOLDERS = [
  'scorers/',
  'src/framework/',
  'src/cost-model/',
  'src/flow/',
  'src/picker/',
  'src/plugins/',
  'src/openai/',
  'src/config/',
] as const;

const BANNED =
  /\b(?:(?:Date|performance|process|console|crypto)\s*[.(]|(?:fetch|setTimeout|setInterval|setImmediate|queueMicrotask)\s*\(|Math\s*\.\s*random\b)/;

const isTest = (path: string): boolean => path.endsWith('.test.ts');
const isShipped = (path: string): boolean => /^(src|scorers|stub-server|ui)\//.test(path);
const shipped = sourceFiles().filter((path) => isShipped(path) && !isTest(path));

const FILE_LINES_MAX = 300;

it('[T11] [T28] has no source file over 300 lines, no test and no style sheet', () => {
  const styleSheets = allFiles().filter((path) => path.endsWith('.css'));
  expect(styleSheets.length).toBeGreaterThan(1);
  const long = [...sourceFiles(), ...styleSheets]
    .map((path) => ({ path, lines: readText(path).split('\n').length - 1 }))
    .filter(({ lines }) => lines > FILE_LINES_MAX)
    .map(({ path, lines }) => longFileFault(path, lines, FILE_LINES_MAX));
  expect(sourceFiles().filter(isTest).length).toBeGreaterThan(500);
  expectNoFault(long);
});

const FOLDER_FILES_MAX = 25;
/** One file for each of the things that its index lists. */
const LISTED_FOLDER = 'scorers';

it('[T91] keeps every folder small enough to be read from above', () => {
  const files = new Map<string, number>();
  for (const path of shipped) files.set(dirname(path), (files.get(dirname(path)) ?? 0) + 1);
  files.delete(LISTED_FOLDER);
  expect(files.size).toBeGreaterThan(100);
  const full = [...files]
    .filter(([, count]) => count > FOLDER_FILES_MAX)
    .map(([folder, count]) => fullFolderFault(folder, count, FOLDER_FILES_MAX));
  expectNoFault(full);
});

it.each([
  ['admitters', 'defineAdmitter'],
  ['screeners', 'defineScreener'],
  ['reporters', 'defineReporter'],
])('[T97] defines %s by %s', (folder, define) => {
  const definitions = shipped.filter(
    (path) =>
      path.startsWith(`src/plugins/${folder}/`) && /\bdefine[A-Z]\w+\(/.test(readText(path)),
  );
  expect(definitions).not.toEqual([]);
  expectNoFault(
    definitions.filter((path) => !readText(path).includes(`${define}(`)),
    `define these by ${define} of src/framework/plugin.ts`,
  );
});

it('[T98] gives a name to one file of src, so that an editor finds it by its name', () => {
  const paths = new Map<string, string[]>();
  for (const path of shipped.filter((each) => each.startsWith('src/'))) {
    paths.set(basename(path), [...(paths.get(basename(path)) ?? []), path]);
  }
  expect(paths.size).toBeGreaterThan(700);
  expectNoFault(
    [...paths.values()].filter(({ length }) => length > 1).map((same) => same.join(' and ')),
    'rename one of these files, so that its name says what only it does',
  );
});

it('[T2] touches time, chance and the outside world only through Runtime in pure code', () => {
  const pure = shipped.filter((path) => PURE_FOLDERS.some((folder) => path.startsWith(folder)));
  const wrong = pure.flatMap((path) => {
    const code = codeOnly(readText(path));
    const banned = BANNED.exec(code)?.[0];
    const builtIn = /(?:from|import)\s*\(?\s*'node:[^']*'/.exec(readText(path))?.[0];
    return [banned, builtIn].flatMap((found) => (found === undefined ? [] : [`${path}: ${found}`]));
  });
  expectNoFault(wrong, 'take time, chance, network and files from Runtime');
});

it('[T2] gives no pure code an exception in the lint configuration, and none to a file that has gone', () => {
  const { overrides } = JSON.parse(readText('.oxlintrc.json')) as {
    readonly overrides: readonly { readonly excludeFiles?: readonly string[] }[];
  };
  const rims = overrides
    .flatMap(({ excludeFiles = [] }) => excludeFiles)
    .filter((rim) => !rim.startsWith('**'));
  expect(rims.filter((rim) => PURE_FOLDERS.some((folder) => rim.startsWith(folder)))).toEqual([]);
  const gone = rims.filter((rim) => {
    const start = rim.replace(/\*.*$/, '');
    return !allFiles().some((path) => (start === rim ? path === rim : path.startsWith(start)));
  });
  expectNoFault(gone, 'delete these paths from .oxlintrc.json');
});

it('[T3] keeps no file that nothing reaches', () => {
  // A test beside a file does not keep it alive; those that use several parts at once, and benches,
  // do.
  const others = sourceFiles().filter((path) => /^(bench|test)\//.test(path));
  const reached = reachedFrom([...ENTRY_POINTS, ...others]);
  expectNoFault(
    shipped.filter((path) => !reached.has(path)),
    'delete these files, or name them in ENTRY_POINTS if they begin a thread or a program',
  );
});

it('[T4] names every scorer, and no other, in the README of the scorers', () => {
  const rows = readText('scorers/README.md').matchAll(/^\| `([^`]+)`/gm);
  const told = [...rows].map(([, type = '']) => type);
  const types = scorers.map(({ type }) => type);
  expectSameNames(told, types, 'the tables of scorers/README.md');
});

it('[T4] has every scorer in the list, with its test beside it', () => {
  const files = sourceFiles().filter(
    (path) => /^scorers\/(?:baselines\/)?[^/]+\.ts$/.test(path) && !isTest(path),
  );
  const modules = files.filter((path) => path !== 'scorers/index.ts');
  const listed = importsOf('scorers/index.ts').filter((path) => path.startsWith('scorers/'));
  const defined = modules.filter((path) => readText(path).includes('defineScorer('));
  expectSameNames(listed, defined, 'the imports of scorers/index.ts');
  const tests = new Set(sourceFiles());
  expectNoFault(
    listed.filter((path) => !tests.has(path.replace(/\.ts$/, '.test.ts'))),
    'put a test beside these scorers',
  );
});

it('[T26] finds each scorer in the file with whose name its type begins', () => {
  const files = importsOf('scorers/index.ts').filter((path) => path.startsWith('scorers/'));
  const wrong = files.filter((path) => {
    const name = basename(path, '.ts');
    return !scorers.some(
      ({ type }) => type.startsWith(name) && readText(path).includes(`'${type}'`),
    );
  });
  expectNoFault(wrong, 'rename the file to what the type of its scorer begins with');
});

/** Text that names a place on one machine, or a package registry by its address. */
const MACHINE_BOUND: readonly RegExp[] = [
  /(?<![\w.$}\])-])\/(?:home|root|Users)\/\w/,
  /https?:\/\/[\w.-]*(?:registry|artifactory|nexus|pypi|goproxy|proxy\.golang)[\w.-]*/i,
  /"resolved":\s*"/,
];

it('[T5] names no place on one machine and no package registry', () => {
  const text =
    /\.(?:ts|js|json|jsonc|md|ya?ml|sh|toml|mod|go|proto|txt)$|(?:^|\/)(?:Dockerfile|run|\.[\w-]+)$/;
  const wrong = allFiles()
    .filter((path) => text.test(path))
    .flatMap((path) => {
      const content = readText(path);
      return MACHINE_BOUND.flatMap((bound) => {
        const found = bound.exec(content)?.[0];
        return found === undefined ? [] : [`${path}: ${found}`];
      });
    });
  expectNoFault(wrong, 'these files name a place that only one machine has');
});

it('[T6] names every file in kebab-case', () => {
  const wrong = sourceFiles().filter(
    (path) =>
      !/^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)*[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)*\.[jt]s$/.test(path),
  );
  expectNoFault(wrong, 'rename these files: kebab-case, such as file-name.test.ts');
});

it('[T7] tests every rule of SPEC.md, and no rule that is not there', () => {
  const written = [...readText('SPEC.md').matchAll(/^- \*\*([A-Z]+\d+)\*\*/gm)].map(
    ([, id = '']) => id,
  );
  const tested = new Map<string, string[]>();
  for (const path of sourceFiles().filter(isTest)) {
    const names = readText(path).match(/(?<=['"`])(?:\[[A-Z]+\d+\]\s*)+/g) ?? [];
    for (const id of new Set(names.flatMap((ids) => ids.match(/[A-Z]+\d+/g) ?? []))) {
      tested.set(id, [...(tested.get(id) ?? []), path]);
    }
  }
  expect(tested.size).toBeGreaterThan(500);
  expectNoFault(ruleFaults(written, tested));
});

it('[T8] exports by name, and gives no folder to leftovers', () => {
  const wrong = sourceFiles().filter(
    (path) =>
      /(?:^|\/)(?:utils?|helpers?|common|misc)(?:\/|\.ts$)/.test(path) ||
      (path !== 'vitest.config.ts' && /^export default/m.test(readText(path))),
  );
  expectNoFault(wrong, 'export by name, and name folders and files for what they do');
});

it('[T12] gives no two exports of src the same name', () => {
  const places = new Map<string, string[]>();
  for (const path of shipped.filter((each) => each.startsWith('src/'))) {
    const exported = readText(path).matchAll(
      /^export (?:abstract )?(?:async )?(?:interface|type|class|function\*?|const|let) (\w+)/gm,
    );
    for (const [, name = ''] of exported) places.set(name, [...(places.get(name) ?? []), path]);
  }
  expect(places.size).toBeGreaterThan(1000);
  const several = [...places].filter(([, paths]) => new Set(paths).size > 1);
  expectNoFault(several.map(([name, paths]) => twoExportsFault(name, paths)));
});
