import { cpus } from 'node:os';
import { fetchEnvoy } from '../../src/lab/envoy/fetch-envoy.ts';
import type { Tools } from '../load/bed.ts';
import { parseOptions } from '../support/parse-options.ts';
import type { Comparison, Overhead } from './compare.ts';

export interface OverheadOptions {
  readonly json: boolean;
  readonly endpoints: readonly number[];
  readonly effort: Pick<Comparison, 'beds' | 'rounds' | 'windowMs' | 'warmUpMs'>;
  readonly tools: Tools;
  readonly machine: unknown;
}

const HELP = `
  --endpoints <n,…>  pools of these sizes (8)
  --beds <n>         pairs of picker processes (3)
  --rounds <n>       of each, windows with and without (8)
  --window-ms <n>    length of one (2000)
  --warm-up-ms <n>   load before the first window, for each picker (4000)
  --json             one JSON document on stdout
  --verbose          what the processes say
`;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** What both benches take; undefined, and an exit code set, where there is nothing to run. */
export async function overheadOptions(
  name: string,
  about: string,
): Promise<OverheadOptions | undefined> {
  const { values } = parseOptions({
    options: {
      help: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      endpoints: { type: 'string', default: '8' },
      beds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '8' },
      'window-ms': { type: 'string', default: '2000' },
      'warm-up-ms': { type: 'string', default: '4000' },
    },
  });
  if (values.help) {
    process.stdout.write(`npm run bench -- ${name} [options]\n\n${about}\n${HELP}`);
    return undefined;
  }
  if (process.platform !== 'linux') return refuse('needs Linux: it reads CPU times from /proc');
  const envoy = await fetchEnvoy({ log: say });
  if ('unavailable' in envoy) return refuse(`needs a real Envoy: ${envoy.unavailable}`);
  return {
    json: values.json,
    endpoints: values.endpoints.split(',').map((text) => count(text, '--endpoints')),
    effort: {
      beds: count(values.beds, '--beds'),
      rounds: count(values.rounds, '--rounds'),
      windowMs: count(values['window-ms'], '--window-ms'),
      warmUpMs: count(values['warm-up-ms'], '--warm-up-ms'),
    },
    tools: {
      envoyPath: envoy.path,
      other: undefined,
      nodeFlags: [],
      log: values.verbose ? say : () => undefined,
    },
    machine: {
      cores: cpus().length,
      cpu: cpus()[0]?.model,
      node: process.version,
      envoy: envoy.version,
    },
  };
}

function refuse(why: string): undefined {
  say(`this bench ${why}`);
  process.exitCode = 2;
}

function count(text: string, flag: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) {
    throw new Error(`${flag} must be a whole number above 0, not ${JSON.stringify(text)}`);
  }
  return Number(text);
}

export function overheadText({
  withoutMs,
  withMs,
  share,
  pairs,
  requests,
  failed,
}: Overhead): string {
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  return (
    `${withoutMs.toFixed(4)} ms without, ${withMs.toFixed(4)} ms with: ${percent(share.median)} more ` +
    `(quartiles ${percent(share.lower)} to ${percent(share.upper)} of ${pairs} pairs; ${requests} requests, ${failed} failed)`
  );
}
