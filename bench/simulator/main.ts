import { writeFileSync } from 'node:fs';
import { parseOptions } from '../support/parse-options.ts';
import { buildReferenceSimulator } from '../support/reference-simulator.ts';
import type { Answer } from './answer-facts.ts';
import { type Compared, compareAnswers, type Difference } from './compare-answers.ts';
import { GENERATION } from './generation-requests.ts';
import { KNOWN_DIFFERENCES } from './known-differences.ts';
import { OTHERS } from './other-requests.ts';
import { startServer } from './servers.ts';

const HELP = `npm run bench -- simulator [--port 31700] [--answers file.json]

Sends the same requests to llm-d's simulator, built with Go once, and to the stub with the same
command line, and compares what both say to a client. Prints each difference with its reason, and
ends with an error where one has none. --answers writes all answers of both.`;

const REQUESTS = [...GENERATION, ...OTHERS];
const NAMES_MAX = 4;

const { values } = parseOptions({
  options: {
    port: { type: 'string', default: '31700' },
    answers: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(`${HELP}\n`);
else await compare(Number(values.port), values.answers);

async function compare(port: number, file: string | undefined): Promise<void> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const built = await buildReferenceSimulator(log);
  if ('unavailable' in built) {
    log(built.unavailable);
    process.exitCode = 1;
    return;
  }
  log(`${REQUESTS.length} requests to each of two servers`);
  const theirs = await answersOf(built.path, port);
  const ours = await answersOf(undefined, port + 1);
  if (file !== undefined) writeFileSync(file, JSON.stringify([[...theirs], [...ours]], null, 1));
  const compared = compareAnswers(theirs, ours, KNOWN_DIFFERENCES);
  process.stdout.write(`${asText(compared, built.version).join('\n')}\n`);
  if (compared.unknown.length > 0) process.exitCode = 1;
}

/** One request after another: some depend on those before. */
async function answersOf(
  path: string | undefined,
  port: number,
): Promise<ReadonlyMap<string, Answer>> {
  const server = await startServer(path, port);
  const answers = new Map<string, Answer>();
  try {
    for (const asked of REQUESTS) answers.set(asked.name, await server.ask(asked));
  } finally {
    await server.stop();
  }
  return answers;
}

function asText({ requests, known, unknown }: Compared, version: string): readonly string[] {
  const explained = [...known.values()].reduce((sum, { length }) => sum + length, 0);
  return [
    `${version}: ${requests} requests, ${explained + unknown.length} differences`,
    '',
    ...[...known].flatMap(([{ why }, differences]) => [why, ...differences.map(lineOf), '']),
    `without a reason: ${unknown.length}`,
    ...unknown.map(lineOf),
  ];
}

function lineOf({ whose, fact, requests }: Difference): string {
  const names = requests.slice(0, NAMES_MAX).join(', ');
  const more = requests.length > NAMES_MAX ? `, and ${requests.length - NAMES_MAX} more` : '';
  return `  ${whose}: ${fact}  [${names}${more}]`;
}
