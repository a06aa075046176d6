import { expect, it } from 'vitest';
import { idleParameters } from '../../src/config/notes/idle-parameters.ts';
import { coreInsteadOf } from '../../src/config/reference/reference-types.ts';
import { documentedParameters, type Parameter } from '../docs/documented-parameters.ts';
import { allCommands } from '../docs/reference-page.ts';
import { expectNoFault } from './faults.ts';
import { propertyReads } from './property-reads.ts';
import { reachedFrom, readText, sourceFiles } from './source-tree.ts';

const isCode = (path: string): boolean =>
  /^(?:src|scorers|stub-server)\//.test(path) && !path.endsWith('.test.ts');
const reads = propertyReads(sourceFiles().filter(isCode));

/** Where the code of a command begins. */
function fileOf(command: string): string {
  if (command === 'stub') return 'stub-server/main.ts';
  if (command === 'calibrate') return 'stub-server/calibration/calibrate-command.ts';
  return `src/commands/${command}-command.ts`;
}

const filesFrom = new Map<string, ReadonlySet<string>>();

function isRead(name: string, begin: string): boolean {
  const reached = filesFrom.get(begin) ?? reachedFrom([begin]);
  filesFrom.set(begin, reached);
  return (reads.get(name) ?? []).some((path) => reached.has(path));
}

it('[T71] reads every flag of a command somewhere in the code of that command', () => {
  const files = new Set(sourceFiles());
  const faults = allCommands().flatMap(({ name, command }) => {
    const file = fileOf(name.replace(/ .*/, ''));
    expect(files, `the file of ${name}`).toContain(file);
    const unread = command.options.filter((option) => !isRead(option.attributeName(), file));
    return unread.map((option) => `${file}, ${name} ${option.flags}: ${option.attributeName()}`);
  });
  expectNoFault(faults, 'nothing reads these flags: read them where they count, or delete them');
});

it('[T71] reads every option of a serving picker beyond the command line', () => {
  const options = readText('src/serve/options/serve-options.ts');
  const fields = [...options.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name = '']) => name);
  expect(fields.length).toBeGreaterThan(40);
  const faults = fields.filter((name) =>
    (reads.get(name) ?? []).every(
      (path) => path.startsWith('src/commands/') || path.endsWith('/serve-options.ts'),
    ),
  );
  expectNoFault(faults, 'these fields of src/serve/options/serve-options.ts reach nothing');
});

it('[T89] reads every setting of sessions where sessions are', () => {
  const [, after = ''] = readText('src/extproc/session/session-rules.ts').split(
    'export interface SessionSettings {',
  );
  const [text = ''] = after.split('\n}');
  const fields = [...text.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, name = '']) => name);
  expect(fields.length).toBeGreaterThan(4);
  expectNoFault(
    fields.filter(
      (name) => !(reads.get(name) ?? []).some((path) => path.startsWith('src/extproc/')),
    ),
    'nothing in src/extproc reads these fields of SessionSettings: read them there, or delete them',
  );
});

/** Whether `check` says of this parameter, or of what it is in, that it has no effect. */
function hasNote({ type, path }: Parameter): boolean {
  return path.some((_, at) => {
    const given = path
      .slice(0, at + 1)
      .reduceRight<unknown>((value, name) => ({ [name]: value }), 1);
    return idleParameters(type, given, '').length > 0;
  });
}

it('[T72] reads every parameter of a plugin somewhere, or says that it has no effect', () => {
  const parameters = documentedParameters().filter(({ type }) => coreInsteadOf(type) === undefined);
  expect(parameters.length).toBeGreaterThan(300);
  const faults = parameters
    .filter(({ path, isFixed }) => !isFixed && !reads.has(path.at(-1) ?? ''))
    .filter((parameter) => !hasNote(parameter))
    .map(({ type, path }) => `${type}: nothing reads ${path.join('.')}`);
  expectNoFault(
    faults,
    'read these parameters, or name them in src/config/notes/idle-parameters.ts with the reason',
  );
});
