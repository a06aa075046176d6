import { z } from 'zod';
import { ENGINE_COUNT_MAX } from '../../src/framework/endpoint-attributes.ts';
import type { HostTierOptions } from '../engine/kv-cache/host-tier.ts';
import type { SpeculationOptions } from '../engine/speculation.ts';
import { type TimedFault, timedFaultSchema } from '../faults/fault.ts';
import type { KvEventFormat } from '../kv-events/kv-event.ts';
import { DIALECT_NAMES, type DialectName } from '../metrics/engine-page.ts';
import { KV_LINK_DEFAULT, type KvLink } from '../pd/kv-fabric.ts';
import type { ServerRole } from '../pd/kv-legs.ts';
import { hardwarePreset } from '../presets/hardware-preset.ts';
import { PRESETS, type Preset, type PresetName } from '../presets/presets.ts';
import {
  hardwareSchema,
  hostTierOf,
  hostTierSchema,
  kvLinkSchema,
  LINEAR_TERMS,
  latencySchema,
  speculationSchema,
} from './engine-parts.ts';
import { SERVED_FIELDS, type ServedOptions } from './served-options.ts';

/** Options of one stub server, or of a pool of equal ones. Times are model time. */
export interface StubOptions extends Omit<Preset, 'accelerators'>, ServedOptions {
  readonly count: number;
  readonly host: string;
  /** The first of consecutive ports, one per server and rank; 0 takes free ones. */
  readonly port: number;
  /** `ports`: servers have consecutive ports; `addresses`: consecutive addresses from `host` on. */
  readonly spread: 'ports' | 'addresses';
  /** vLLM's data-parallel ranks: engines in one server, each with its own port. */
  readonly dataParallelSize: number;
  /** Data-parallel ranks behind one port, over which the server spreads its requests. */
  readonly engines: number;
  readonly model: string;
  /** The engine whose metrics it shows. */
  readonly engine: DialectName;
  readonly loras: readonly string[];
  readonly lorasMax: number;
  /** Whether metrics speak of adapters before there are any. */
  readonly loraEnabled: boolean;
  /** Factor on the step time of `latency`. */
  readonly slowdown: number;
  /** Relative standard deviation of step times. */
  readonly jitter: number;
  readonly blockTokens: number;
  readonly policy: 'fcfs' | 'priority';
  /** Whether a request is admitted only where its whole prompt fits in free memory. */
  readonly wholePromptMustFit: boolean;
  readonly speculative?: SpeculationOptions | undefined;
  /** For contracts that distinguish the legs of a request by their server. */
  readonly role: ServerRole;
  readonly kvLink: KvLink;
  /** Host memory that keeps KV which the accelerator has no room for. */
  readonly hostTier?: HostTierOptions | undefined;
  /** Whether it shares a store of KV with the other servers of its model. */
  readonly sharedStorage: boolean;
  readonly speed: number;
  readonly seed: number;
  readonly admissionPerSequenceMs: number;
  readonly completionMs: number;
  /** Duration of the start; /health answers 503 meanwhile. */
  readonly startupMs: number;
  /** First port for KV events, one per endpoint; 0 takes free ones. Undefined: no events. */
  readonly kvEventsPort?: number | undefined;
  readonly kvEventsReplayPort?: number | undefined;
  readonly kvEventsFormat: KvEventFormat;
  readonly faults: readonly TimedFault[];
}

const presetNames = Object.keys(PRESETS) as [PresetName, ...PresetName[]];
const positive = z.int().positive().optional();
const PORT_BOUNDS = 'is no port: give a whole number from 0 to 65535';
/** 0 takes a free one. */
export const PORT: z.ZodInt = z.int().min(0, PORT_BOUNDS).max(65_535, PORT_BOUNDS);

export const BLOCK_TOKENS_DEFAULT = 16;

const ms = z.number().nonnegative();

/** Options that can differ between the servers of a pool. */
const SERVER_FIELDS = {
  count: z.int().min(1).max(1000).default(8),
  model: z.string().min(1).default('stub-model'),
  engine: z.enum(DIALECT_NAMES).default('vllm'),
  dataParallelSize: z.int().min(1).max(8).default(1),
  engines: z.int().min(1).max(ENGINE_COUNT_MAX).default(1),
  loras: z.array(z.string().min(1)).default([]),
  lorasMax: z.int().positive().default(4),
  loraEnabled: z.boolean().default(false),
  /** Gives the defaults of `latency`, sizes and `admissionMs`. */
  preset: z.enum(presetNames).default('study'),
  /** Instead of a preset: computes the defaults from a model and its accelerators. */
  hardware: hardwareSchema.optional(),
  /** Instead of the preset's, such as the result of `pointsman calibrate --out`. */
  latency: latencySchema.optional(),
  slowdown: z.number().positive().default(1),
  jitter: z.number().min(0).max(1).default(0),
  kvBlocks: positive,
  blockTokens: z.int().positive().default(BLOCK_TOKENS_DEFAULT),
  sequencesMax: positive,
  batchedTokensMax: positive,
  policy: z.enum(['fcfs', 'priority']).default('fcfs'),
  /** By default as the engine whose metrics it shows. */
  wholePromptMustFit: z.boolean().optional(),
  speculative: speculationSchema.optional(),
  role: z.enum(['both', 'prefill', 'decode']).default('both'),
  kvLink: kvLinkSchema.default(KV_LINK_DEFAULT),
  hostTier: hostTierSchema.optional(),
  sharedStorage: z.boolean().default(false),
  ...z.object(LINEAR_TERMS).partial().shape,
  admissionMs: ms.optional(),
  admissionPerSequenceMs: ms.default(0),
  completionMs: ms.default(0),
  startupMs: ms.default(0),
};

const SPEED_MIN = 0.1;
/** A step of 10 ms then takes 1 ms; timers, sockets and clients are not faster than that. */
const SPEED_MAX = 10;
const slowerMessage = `is below ${SPEED_MIN}: use slowdown to make the model slower`;
const fasterMessage = `is above ${SPEED_MAX}: sockets and timers do not become faster, so they would dominate the latencies; use pointsman simulate, which has a virtual clock`;

/** Options of a whole pool. */
const POOL_FIELDS = {
  host: z.string().default('127.0.0.1'),
  port: PORT.default(8000),
  spread: z.enum(['ports', 'addresses']).default('ports'),
  speed: z.number().min(SPEED_MIN, slowerMessage).max(SPEED_MAX, fasterMessage).default(1),
  seed: z.int().nonnegative().default(1),
  kvEventsPort: PORT.optional(),
  kvEventsReplayPort: PORT.optional(),
  kvEventsFormat: z.enum(['array', 'map', 'map-batch']).default('array'),
  faults: z.array(timedFaultSchema).default([]),
};

const schema = z.strictObject({ ...SERVER_FIELDS, ...SERVED_FIELDS, ...POOL_FIELDS });

const DOES_NOT_FIT = {
  path: ['hardware'],
  message:
    'leaves no memory for KV after the weights: raise tensorParallel or memoryShare, or lower weightBytes',
};

/** The defaults are the preset `study`. */
export const stubOptions: z.ZodType<StubOptions> = schema.transform(
  (input, context): StubOptions => {
    const { preset: name, hardware, baseMs, perPrefillTokenMs, ...others } = input;
    const { perDecodeSequenceMs, perContextTokenMs, ...rest } = others;
    const preset = hardware === undefined ? PRESETS[name] : hardwarePreset(hardware);
    if (preset.kvBlocks < 1) context.addIssue({ code: 'custom', ...DOES_NOT_FIT });
    const latency = input.latency ?? preset.latency;
    const overrides = { baseMs, perPrefillTokenMs, perDecodeSequenceMs, perContextTokenMs };
    const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
    if (given.length > 0 && latency.kind !== 'linear') {
      const message = `${given.map(([field]) => field).join(', ')} can only be set where step time is linear, as in the preset study: set all coefficients with latency, or use slowdown`;
      context.addIssue({ code: 'custom', message });
    }
    for (const issue of enginesIssues(input)) context.addIssue({ code: 'custom', ...issue });
    if (input.spread === 'addresses' && !z.ipv4().safeParse(input.host).success) {
      const message = `is ${input.host}, but spread: addresses needs an IPv4 address to count from, such as 127.0.0.1`;
      context.addIssue({ code: 'custom', path: ['host'], message });
    }
    return {
      ...rest,
      hostTier: input.hostTier && hostTierOf(input.hostTier, input.kvLink, input.blockTokens),
      wholePromptMustFit: input.wholePromptMustFit ?? input.engine !== 'vllm-2025',
      latency: { ...latency, ...Object.fromEntries(given) },
      kvBlocks: input.kvBlocks ?? preset.kvBlocks,
      sequencesMax: input.sequencesMax ?? preset.sequencesMax,
      batchedTokensMax: input.batchedTokensMax ?? preset.batchedTokensMax,
      // Fixed times say all that a request takes.
      admissionMs: input.admissionMs ?? (input.timings === undefined ? preset.admissionMs : 0),
    };
  },
) as z.ZodType<StubOptions>;

/** What several engines behind one address cannot be combined with. */
function enginesIssues({
  engines,
  dataParallelSize,
  engine,
  fakeMetrics,
}: z.infer<typeof schema>): readonly { path: string[]; message: string }[] {
  if (engines === 1) return [];
  const others = [
    [dataParallelSize > 1, 'dataParallelSize, which gives each rank a port: leave one of them out'],
    [engine === 'trtllm', 'engine trtllm, whose metrics do not distinguish them: choose another'],
    [fakeMetrics !== undefined, 'fakeMetrics, which are those of one engine: leave them out'],
  ] as const;
  return others
    .filter(([given]) => given)
    .map(([, other]) => ({
      path: ['engines'],
      message: `is ${engines} and cannot be used with ${other}`,
    }));
}
