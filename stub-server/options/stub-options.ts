import { z } from 'zod';
import { ACCELERATORS, type AcceleratorName } from '../calibration/hardware.ts';
import type { LatencyCoefficients } from '../engine/latency-model.ts';
import { SPECULATION_TOKENS_MAX, type SpeculationOptions } from '../engine/speculation.ts';
import { type TimedFault, timedFaultSchema } from '../faults/fault.ts';
import type { KvEventFormat } from '../kv-events/kv-event.ts';
import type { DialectName } from '../metrics/metrics-page.ts';
import type { ServerRole } from '../pd/kv-contract.ts';
import { KV_LINK_DEFAULT, type KvLink } from '../pd/kv-fabric.ts';
import { hardwarePreset } from '../presets/hardware-preset.ts';
import { PRESETS, type PresetName } from '../presets/presets.ts';

/** Of one stub, or of all of a pool that are alike. Times are model time. */
export interface StubOptions {
  readonly count: number;
  readonly host: string;
  /** The first of consecutive ports, one a server and rank; 0 takes free ones. */
  readonly port: number;
  /** Servers one after another on the ports of one address, or each with an address of its own from `host` on. */
  readonly spread: 'ports' | 'addresses';
  /** Engines in one server, each on a port of its own: vLLM's data-parallel ranks. */
  readonly dataParallelSize: number;
  readonly model: string;
  /** Whose metrics it shows. */
  readonly engine: DialectName;
  readonly loras: readonly string[];
  readonly lorasMax: number;
  readonly latency: LatencyCoefficients;
  /** Steps take so many times as long as `latency` says. */
  readonly slowdown: number;
  /** Relative spread of step times. */
  readonly jitter: number;
  readonly kvBlocks: number;
  readonly blockTokens: number;
  readonly sequencesMax: number;
  readonly batchedTokensMax: number;
  readonly policy: 'fcfs' | 'priority';
  readonly speculative?: SpeculationOptions | undefined;
  /** For contracts that tell the two legs of a request by the server they go to. */
  readonly role: ServerRole;
  readonly kvLink: KvLink;
  /** Whether its KV is kept in a store that others of its model with one read from. */
  readonly sharedStorage: boolean;
  /** How many times faster than life. */
  readonly speed: number;
  readonly seed: number;
  readonly admissionMs: number;
  readonly completionMs: number;
  /** Until it is ready after the start; /health says 503 so long. */
  readonly startupMs: number;
  /** First of the ports that KV events are published on, one an endpoint; 0 takes free ones. Not published when left out. */
  readonly kvEventsPort?: number | undefined;
  /** First of the ports where missed ones can be asked for again. */
  readonly kvEventsReplayPort?: number | undefined;
  readonly kvEventsFormat: KvEventFormat;
  /** What goes wrong, and when. */
  readonly faults: readonly TimedFault[];
}

const presetNames = Object.keys(PRESETS) as [PresetName, ...PresetName[]];
const acceleratorNames = Object.keys(ACCELERATORS) as [AcceleratorName, ...AcceleratorName[]];
const positive = z.int().positive().optional();
const milliseconds = z.number().nonnegative().optional();
const share = z.number().min(0).max(1);
const port = z.int().min(0).max(65_535);

const ms = z.number().nonnegative();
const latencySchema: z.ZodType<LatencyCoefficients> = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('linear'),
    baseMs: ms,
    perPrefillTokenMs: ms,
    perDecodeSequenceMs: ms,
    perContextTokenMs: ms,
  }),
  z.strictObject({
    kind: z.literal('roofline'),
    stepMs: ms,
    weightsMs: ms,
    perTokenMs: ms,
    perSequenceMs: ms,
    perContextTokenMs: ms,
    perAttendedSquareMs: ms,
    prefillMs: ms,
    eagerMs: ms,
  }),
]);

/** What one server may have of its own in a pool of unlike ones. */
const SERVER_FIELDS = {
  count: z.int().min(1).max(1000).default(8),
  model: z.string().min(1).default('stub-model'),
  engine: z.enum(['vllm', 'vllm-2025', 'sglang', 'trtllm']).default('vllm'),
  dataParallelSize: z.int().min(1).max(8).default(1),
  loras: z.array(z.string().min(1)).default([]),
  lorasMax: z.int().positive().default(4),
  /** Where all that follows comes from unless it is said. */
  preset: z.enum(presetNames).default('study'),
  /** In place of a preset: what arithmetic makes of a model and its accelerators. */
  hardware: z
    .strictObject({
      accelerator: z.enum(acceleratorNames),
      tensorParallel: z.int().min(1).max(64).default(1),
      parameters: z.number().positive(),
      weightBytes: z.number().positive().optional(),
      layers: z.int().positive(),
      kvBytesPerToken: z.number().positive(),
      vocabulary: z.int().positive().default(128_256),
      memoryShare: z.number().positive().max(1).default(0.9),
    })
    .optional(),
  /** In place of a preset's: such as `pointsman calibrate --out` has written. */
  latency: latencySchema.optional(),
  slowdown: z.number().positive().default(1),
  jitter: z.number().min(0).max(1).default(0),
  kvBlocks: positive,
  blockTokens: z.int().positive().default(16),
  sequencesMax: positive,
  batchedTokensMax: positive,
  policy: z.enum(['fcfs', 'priority']).default('fcfs'),
  speculative: z
    .strictObject({
      tokens: z.int().min(1).max(SPECULATION_TOKENS_MAX),
      acceptance: z
        .union([share, z.array(share).min(1).max(SPECULATION_TOKENS_MAX)])
        .transform((given) => (typeof given === 'number' ? [given] : given)),
      draftMs: z.number().nonnegative().default(0),
    })
    .optional(),
  role: z.enum(['both', 'prefill', 'decode']).default('both'),
  kvLink: z
    .strictObject({
      gigabytesPerSecond: z.number().positive().default(KV_LINK_DEFAULT.gigabytesPerSecond),
      setupMs: z.number().nonnegative().default(KV_LINK_DEFAULT.setupMs),
      bytesPerToken: z.number().positive().default(KV_LINK_DEFAULT.bytesPerToken),
    })
    .default(KV_LINK_DEFAULT),
  sharedStorage: z.boolean().default(false),
  baseMs: milliseconds,
  perPrefillTokenMs: milliseconds,
  perDecodeSequenceMs: milliseconds,
  perContextTokenMs: milliseconds,
  admissionMs: milliseconds,
  completionMs: z.number().nonnegative().default(0),
  startupMs: z.number().nonnegative().default(0),
};

const SPEED_MIN = 0.1;
/** A step of 10 ms then takes one, which is what timers, sockets and a client's own work leave room for. */
const SPEED_MAX = 10;
const slowerMessage = `is below ${SPEED_MIN}: slow the model down with slowdown instead`;
const fasterMessage = `is above ${SPEED_MAX}: sockets and timers stay as slow as they are, so latencies would be more theirs than the model's; use the virtual clock (pointsman simulate), which is not bound to time at all`;

/** What all of a pool have in common. */
const POOL_FIELDS = {
  host: z.string().default('127.0.0.1'),
  port: port.default(8000),
  spread: z.enum(['ports', 'addresses']).default('ports'),
  speed: z.number().min(SPEED_MIN, slowerMessage).max(SPEED_MAX, fasterMessage).default(1),
  seed: z.int().nonnegative().default(1),
  kvEventsPort: port.optional(),
  kvEventsReplayPort: port.optional(),
  kvEventsFormat: z.enum(['array', 'map', 'map-batch']).default('array'),
  faults: z.array(timedFaultSchema).default([]),
};

const schema = z.strictObject({ ...SERVER_FIELDS, ...POOL_FIELDS });

const DOES_NOT_FIT = {
  path: ['hardware'],
  message:
    'leaves no memory for KV beside the weights: raise tensorParallel or memoryShare, or lower weightBytes',
};

/** Defaults: the engine of the policy study with vLLM's memory for an 8 B model on one 80 GB accelerator. */
export const stubOptions: z.ZodType<StubOptions> = schema.transform(
  (given, context): StubOptions => {
    const { preset: name, hardware, baseMs, perPrefillTokenMs, ...others } = given;
    const { perDecodeSequenceMs, perContextTokenMs, ...rest } = others;
    const preset = hardware === undefined ? PRESETS[name] : hardwarePreset(hardware);
    if (preset.kvBlocks < 1) context.addIssue({ code: 'custom', ...DOES_NOT_FIT });
    const latency = given.latency ?? preset.latency;
    const overrides = { baseMs, perPrefillTokenMs, perDecodeSequenceMs, perContextTokenMs };
    const said = Object.entries(overrides).filter(([, value]) => value !== undefined);
    if (said.length > 0 && latency.kind !== 'linear') {
      const message = `${said.map(([field]) => field).join(', ')} can only be set where step time is linear, as with the preset study; give all coefficients with latency, or slowdown`;
      context.addIssue({ code: 'custom', message });
    }
    if (given.spread === 'addresses' && !z.ipv4().safeParse(given.host).success) {
      const message = `is ${given.host}, and spread: addresses counts up from an IPv4 address, such as 127.0.0.1`;
      context.addIssue({ code: 'custom', path: ['host'], message });
    }
    return {
      ...rest,
      latency: { ...latency, ...Object.fromEntries(said) },
      kvBlocks: given.kvBlocks ?? preset.kvBlocks,
      sequencesMax: given.sequencesMax ?? preset.sequencesMax,
      batchedTokensMax: given.batchedTokensMax ?? preset.batchedTokensMax,
      admissionMs: given.admissionMs ?? preset.admissionMs,
    };
  },
) as z.ZodType<StubOptions>;
