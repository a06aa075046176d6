import { z } from 'zod';
import { issueText } from '../../src/files/reading/zod-issues.ts';
import { ConfigError } from '../../src/framework/error.ts';
import type { EngineArgs } from './engine-args.ts';
import { ADAPTER_TYPES } from './groups/adapter-args.ts';
import { ANSWER_TYPES } from './groups/answer-args.ts';
import { ENCODER_TYPES } from './groups/encoder-args.ts';
import { KV_EVENT_TYPES } from './groups/kv-event-args.ts';
import { MEMORY_TYPES } from './groups/memory-args.ts';
import { SCHEDULER_TYPES } from './groups/scheduler-args.ts';
import { SERVER_TYPES } from './groups/server-args.ts';
import type { SettingTypes } from './groups/setting-types.ts';
import { TIMING_TYPES } from './groups/timing-args.ts';

const TYPES: SettingTypes<EngineArgs> = {
  ...SERVER_TYPES,
  ...SCHEDULER_TYPES,
  ...MEMORY_TYPES,
  ...KV_EVENT_TYPES,
  ...ADAPTER_TYPES,
  ...ENCODER_TYPES,
  ...TIMING_TYPES,
  ...ANSWER_TYPES,
};

/** Names of settings that mean something here. */
export const ENGINE_ARG_NAMES: ReadonlySet<string> = new Set(Object.keys(TYPES));

const schema: z.ZodType<EngineArgs> = z.strictObject(TYPES).partial();

/**
 * Checks settings by their names. Throws ConfigError with each wrong one; `prefix` begins names.
 */
export function checkEngineArgs(
  given: Readonly<Record<string, unknown>>,
  { source, prefix }: { readonly source: string; readonly prefix: string },
): EngineArgs {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((issue) => {
    const { path } = issue;
    const [name = ''] = path;
    return {
      path: `${prefix}${path.join('.')}`,
      message: `${shown(given[String(name)])} ${issueText(issue)}`,
    };
  });
  throw new ConfigError(source, issues);
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
