import type { Environment } from '../../src/framework/runtime.ts';
import type { EngineArgs } from './engine-args.ts';
import { adapterOptions } from './groups/adapter-args.ts';
import { answerOptions } from './groups/answer-args.ts';
import { encoderOptions } from './groups/encoder-args.ts';
import { kvEventOptions } from './groups/kv-event-args.ts';
import { memoryOptions } from './groups/memory-args.ts';
import { schedulerOptions } from './groups/scheduler-args.ts';
import { serverOptions } from './groups/server-args.ts';
import { settingError } from './groups/setting-error.ts';
import { fixedTimings, givenTimings } from './groups/timing-args.ts';

/** Defaults of llm-d-inference-sim where they differ from those of this command. */
const SIMULATOR: EngineArgs = {
  host: '0.0.0.0',
  port: 8000,
  'max-num-seqs': 5,
  'max-model-len': 1024,
  'max-waiting-queue-length': 1000,
  'max-loras': 1,
  'enable-kvcache': false,
  'kv-cache-size': 1024,
  'block-size': 16,
  'kv-events-replay-queue-size': 1024,
};

/**
 * The stub's options for settings of vLLM and llm-d-inference-sim. `asSimulator` brings the
 * defaults of the latter. Throws ConfigError for settings that cannot be combined.
 */
export function stubFromArgs(
  given: EngineArgs,
  {
    asSimulator,
    environment,
  }: { readonly asSimulator: boolean; readonly environment: Environment },
): Readonly<Record<string, unknown>> {
  const args: EngineArgs = asSimulator ? { ...SIMULATOR, ...given } : given;
  if (asSimulator && (args['served-model-name']?.[0] ?? args.model) === undefined) {
    throw settingError('--model', 'is missing: name the model with it, or with $SIM_MODEL');
  }
  return defined({
    ...(asSimulator && { count: 1 }),
    ...serverOptions(args),
    ...schedulerOptions(args),
    ...memoryOptions(args, asSimulator),
    ...kvEventOptions(args, { kvCache: args['enable-kvcache'] === true, asSimulator }),
    ...adapterOptions(args),
    ...encoderOptions(args),
    timings: asSimulator ? fixedTimings(args) : givenTimings(args),
    ...answerOptions(args),
    pod: environment['POD_NAME'] || undefined,
    podNamespace: environment['POD_NAMESPACE'] || undefined,
    podIp: environment['POD_IP'] || undefined,
  });
}

/** Without the fields that are undefined: they would hide defaults. */
function defined(fields: object): Readonly<Record<string, unknown>> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}
