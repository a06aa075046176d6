import { ConfigError } from '../../../framework/error.ts';
import { TOKENS_MAX } from '../trace-format.ts';

/** Milliseconds of each unit. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ['time_s', 1000],
  ['time_ms', 1],
  ['time_us', 1e-3],
  ['time_ns', 1e-6],
]);

const ROLES = ['time', 'prompt', 'output', 'model', 'session', 'priority', 'fairnessId'] as const;
type Role = (typeof ROLES)[number] | 'blocks';

/** What can be written before a name. */
const FORMS = ['time', ...UNITS.keys(), ...ROLES.slice(1), 'blocks_16 (tokens of a block)'];

/** A column of a table, or a field of JSON. */
export interface TraceColumn {
  readonly name: string;
  /** Milliseconds of a time's unit; undefined for dates. */
  readonly unitMs?: number;
  /** Tokens of each block whose id is in the column. */
  readonly blockTokens?: number;
}

/** What each column holds. Plain data, because workers get it, too. */
export interface TraceColumns extends Readonly<Partial<Record<Role, TraceColumn>>> {
  readonly time: TraceColumn;
  readonly prompt: TraceColumn;
  readonly output: TraceColumn;
  readonly blocks?: TraceColumn & { readonly blockTokens: number };
}

/** How columns are named, with those that were seen. */
export function columnsAdvice(seen: readonly string[]): string {
  const columns = seen.length === 0 ? 'its columns' : `its columns, which are ${seen.join(', ')},`;
  return `if it has times and token counts, name ${columns} as by --columns time_s=NAME,prompt=NAME,output=NAME (time_ms, time_us or time_ns for other units, time for dates)`;
}

/** Reads `time_s=start,prompt=in,output=out`. Throws ConfigError that says what is wrong with it. */
export function parseColumns(text: string): TraceColumns {
  const columns: Partial<Record<Role, TraceColumn>> = {};
  for (const part of text.split(',')) {
    const [given = '', ...rest] = part.split('=').map((each) => each.trim());
    const name = rest.join('=');
    const [role, units] = formOf(given);
    if (name === '') throw refused(`${given} names no column: write ${given}=NAME`);
    if (columns[role] !== undefined) throw refused(`${role} is named twice`);
    columns[role] = { name, ...units };
  }
  const { time, prompt, output, blocks } = columns;
  if (time === undefined)
    throw refused(`lacks the time: one of time, ${[...UNITS.keys()].join(', ')}`);
  if (prompt === undefined) throw refused('lacks prompt, the column with the tokens of prompts');
  if (output === undefined) throw refused('lacks output, the column with the tokens of answers');
  const { blockTokens } = blocks ?? {};
  const { blocks: _, ...others } = columns;
  return {
    ...others,
    time,
    prompt,
    output,
    ...(blocks !== undefined &&
      blockTokens !== undefined && { blocks: { ...blocks, blockTokens } }),
  };
}

/** What a column holds, and its unit. */
function formOf(given: string): readonly [Role, Omit<TraceColumn, 'name'>] {
  const unitMs = UNITS.get(given);
  if (unitMs !== undefined) return ['time', { unitMs }];
  const role = ROLES.find((each) => each === given);
  if (role !== undefined) return [role, {}];
  const blockTokens = Number(/^blocks_([1-9]\d*)$/.exec(given)?.[1]);
  if (blockTokens <= TOKENS_MAX) return ['blocks', { blockTokens }];
  throw refused(`${JSON.stringify(given)} is none of ${FORMS.join(', ')}`);
}

function refused(message: string): ConfigError {
  return new ConfigError('trace', [{ path: '--columns', message }]);
}
