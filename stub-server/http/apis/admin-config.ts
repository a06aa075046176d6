import { ZodError, z } from 'zod';
import { ConfigError } from '../../../src/framework/error.ts';
import { portOf } from '../../../src/framework/values/server-address.ts';
import { NO_TIME } from '../../engine/timings.ts';
import { checkEngineArgs } from '../../engine-args/check-engine-args.ts';
import type { EngineArgs } from '../../engine-args/engine-args.ts';
import { imageChanges } from '../../engine-args/groups/answer-args.ts';
import { TIMING_FIELDS, timingChanges } from '../../engine-args/groups/timing-args.ts';
import { goDurationText } from '../../go-values/flag-values.ts';
import { changedFakes } from '../../metrics/fake-metrics.ts';
import { checkImages, checkTimings } from '../../options/served-options.ts';
import { ApiError, parseBody } from '../replica/api-error.ts';
import type { StubReplica } from '../replica/stub-replica.ts';

/** Settings of times that are no durations. */
const PLAIN_TIMES: ReadonlySet<string> = new Set(['latency-calculator', 'time-factor-under-load']);
const IMAGE_TIMES = ['time-to-generate-image', 'time-to-generate-image-std-dev'] as const;
const IMAGE_SETTINGS = ['image-emission-rate', ...IMAGE_TIMES] as const;
const CHANGEABLE: ReadonlySet<string> = new Set<keyof EngineArgs>([
  'failure-injection-rate',
  'failure-types',
  'fake-metrics',
  ...IMAGE_SETTINGS,
  ...(Object.keys(TIMING_FIELDS) as (keyof EngineArgs)[]),
]);
const DURATIONS: ReadonlySet<string> = new Set([
  ...Object.keys(TIMING_FIELDS).filter((name) => !PLAIN_TIMES.has(name)),
  ...IMAGE_TIMES,
]);
const NANOSECONDS = 1e-6;

const changeSchema = z.record(z.string(), z.unknown());

/** The settings of a server under llm-d-inference-sim's names. */
export function adminConfig({
  options,
  live,
  loras,
  address,
  contextTokensMax,
}: StubReplica): object {
  const timings = live.timings ?? NO_TIME;
  const times = Object.entries(TIMING_FIELDS).map(([name, field]) => {
    const value = timings[field];
    return [name, PLAIN_TIMES.has(name) ? value : goDurationText(Number(value))];
  });
  return {
    model: options.modelRoot ?? options.model,
    'served-model-name': [options.model, ...options.aliases],
    port: Number(portOf(address)),
    'max-model-len': contextTokensMax,
    'max-num-seqs': options.sequencesMax,
    'max-waiting-queue-length': options.waitingMax ?? null,
    'max-loras': options.lorasMax,
    'max-cpu-loras': options.hostLorasMax ?? options.lorasMax,
    'lora-modules': [...loras].map(([name, path]) => ({ name, path })),
    mode: options.mode,
    seed: options.seed,
    'block-size': options.blockTokens,
    'kv-cache-size': options.kvBlocks,
    'data-parallel-size': options.dataParallelSize,
    'failure-injection-rate': live.failures.rate,
    'failure-types': live.failures.types,
    'fake-metrics': live.fakeMetrics ?? null,
    omni: live.images !== undefined,
    'image-emission-rate': live.images?.percent ?? 0,
    'time-to-generate-image': goDurationText(live.images?.ms ?? 0),
    'time-to-generate-image-std-dev': goDurationText(live.images?.deviationMs ?? 0),
    ...Object.fromEntries(times),
  };
}

/** Changes what can change while a server runs, all of it or nothing. Throws ApiError. */
export function changeConfig(raw: unknown, replica: StubReplica): object {
  const given = parseBody(changeSchema, raw);
  const fixed = Object.keys(given).find((name) => !CHANGEABLE.has(name));
  if (fixed !== undefined) {
    const message = `${fixed} cannot change while the server runs: ${[...CHANGEABLE].join(', ')} can`;
    throw new ApiError(400, message, fixed);
  }
  try {
    change(checkEngineArgs(inMilliseconds(given), { source: 'body', prefix: '' }), replica);
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof ZodError)) throw error;
    const issues = error.issues.map(({ path, message }) => `${String(path)}: ${message}`);
    throw new ApiError(400, issues.join('; '));
  }
  return adminConfig(replica);
}

function change(args: EngineArgs, { live }: StubReplica): void {
  const times = timingChanges(args);
  const changesTimes = Object.keys(times).length > 0;
  if (changesTimes && live.timings === undefined) {
    throw new ApiError(
      400,
      'this server takes its times from an engine of steps: start it with one of these settings',
    );
  }
  const fakes = args['fake-metrics'];
  if (fakes !== undefined && live.fakeMetrics === undefined) {
    throw new ApiError(400, 'this server shows true metrics: start it with fake-metrics');
  }
  const images = imageChanges(args);
  const changesImages = Object.keys(images).length > 0;
  if (changesImages && live.images === undefined) {
    throw new ApiError(400, 'this server answers chats without images: start it with omni');
  }
  const changed = changesImages ? checkImages({ ...live.images, ...images }) : live.images;
  if (changesTimes) live.timings = checkTimings({ ...live.timings, ...times });
  if (fakes !== undefined) live.fakeMetrics = changedFakes(live.fakeMetrics ?? {}, fakes);
  live.images = changed;
  live.failures = {
    rate: args['failure-injection-rate'] ?? live.failures.rate,
    types: args['failure-types'] ?? live.failures.types,
  };
}

/** A duration that is a number has nanoseconds here, as in Go's JSON. */
function inMilliseconds(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(given).map(([name, value]) => {
    const isTime = DURATIONS.has(name);
    return [name, isTime && typeof value === 'number' ? value * NANOSECONDS : value];
  });
  return Object.fromEntries(entries) as Record<string, unknown>;
}
