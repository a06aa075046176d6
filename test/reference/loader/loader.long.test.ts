import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { buildReferenceLoader } from '../../../bench/support/reference-loader.ts';
import { SERVING_CATALOGUE } from '../../../src/catalogue/built-in-catalogue.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { messageOf } from '../../../src/framework/error.ts';
import { seededRandom } from '../../../src/runtime/seeded-random.ts';
import { drawnConfig } from './drawn-configs.ts';

/** With the loader of the Gateway API Inference Extension 1.5.0, built from its Go module. */

const log = (line: string): void => void process.stderr.write(`${line}\n`);
const built = await buildReferenceLoader(log);
if ('unavailable' in built) log(`SKIPPED: the reference's loader. ${built.unavailable}`);
const program = 'unavailable' in built ? '' : built.path;

const SEED = Number(process.env['LOADER_SEED'] ?? 1);
const COUNT = Number(process.env['LOADER_CASES'] ?? 2000);
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

interface Answer {
  readonly ok: boolean;
  readonly error?: string;
}

/** What is meant to differ: who refuses, and what it says. */
const MEANT: readonly (readonly [refusedBy: 'here' | 'there', error: RegExp, why: string])[] = [
  ['there', /metrics-data-source is not a fwkdl/, 'later releases add the source that is named'],
  ['there', /not a parser plugin/, 'a name of another built-in type is an error where it is used'],
  ['there', /cannot unmarshal array/, 'a list as the parameters of a type is read as none'],
  ['here', /is the name of a built-in plugin/, 'a name of another built-in type is an error'],
  ['here', /parameters\.[^:]*: is not a known field/, 'later releases refuse unknown parameters'],
  ['here', /parameters: must be a map/, '1.5.0 reads no parameters of that producer'],
];

function here(text: string): Answer {
  try {
    loadConfig({ text, source: 'drawn', catalogue: SERVING_CATALOGUE });
    return { ok: true };
  } catch (error) {
    return { ok: false, error: messageOf(error) };
  }
}

function there(texts: readonly string[]): readonly Answer[] {
  const input = texts.map((text) => `${JSON.stringify(text)}\n`).join('');
  const { stdout, stderr } = spawnSync(program, { input, maxBuffer: OUTPUT_BYTES_MAX });
  const lines = stdout.toString().trimEnd().split('\n');
  if (lines.length !== texts.length) throw new Error(stderr.toString().slice(0, 2000));
  return lines.map((line) => JSON.parse(line) as Answer);
}

describe.skipIf(program === '')('configurations that are drawn', () => {
  it('[D606] are accepted and refused as by the reference, but for what is meant to differ', () => {
    log(`LOADER_SEED=${SEED} LOADER_CASES=${COUNT}`);
    const random = seededRandom(SEED);
    // The comment keeps the text from being read as JSON, which has other rules there.
    const texts = Array.from(
      { length: COUNT },
      () => `# drawn\n${JSON.stringify(drawnConfig(random))}`,
    );
    const theirs = there(texts);
    let accepted = 0;
    const others = texts.flatMap((text, at) => {
      const [ours, reference] = [here(text), theirs[at]];
      if (ours.ok && reference?.ok) accepted += 1;
      if (ours.ok === reference?.ok) return [];
      const [by, error = ''] = ours.ok ? ['there', reference?.error] : ['here', ours.error];
      const isMeant = MEANT.some(([side, pattern]) => side === by && pattern.test(error));
      return isMeant ? [] : [`${text}\nis refused ${by} alone: ${error}`];
    });
    expect(others).toEqual([]);
    expect(accepted).toBeGreaterThan(COUNT / 5);
  });
});
