import { z } from 'zod';
import { ACCELERATORS, type AcceleratorName } from '../calibration/hardware.ts';
import { HOST_TIER_DEFAULT, type HostTierOptions } from '../engine/kv-cache/host-tier.ts';
import type { LatencyCoefficients, LinearLatency } from '../engine/latency-model.ts';
import { SPECULATION_TOKENS_MAX, type SpeculationOptions } from '../engine/speculation.ts';
import { KV_LINK_DEFAULT, type KvLink } from '../pd/kv-fabric.ts';
import type { Hardware } from '../presets/hardware-preset.ts';

const acceleratorNames = Object.keys(ACCELERATORS) as [AcceleratorName, ...AcceleratorName[]];
const positive = z.int().positive().optional();
const share = z.number().min(0).max(1);
const ms = z.number().nonnegative();
/** The coefficients of a linear step time. */
export const LINEAR_TERMS: Readonly<Record<Exclude<keyof LinearLatency, 'kind'>, z.ZodNumber>> = {
  baseMs: ms,
  perPrefillTokenMs: ms,
  perDecodeSequenceMs: ms,
  perContextTokenMs: ms,
};
export const latencySchema: z.ZodType<LatencyCoefficients> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('linear'), ...LINEAR_TERMS }),
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

/** A model and its accelerators. */
export const hardwareSchema: z.ZodType<Hardware> = z.strictObject({
  accelerator: z.enum(acceleratorNames),
  tensorParallel: z.int().min(1).max(64).default(1),
  parameters: z.number().positive(),
  weightBytes: z.number().positive().optional(),
  layers: z.int().positive(),
  kvBytesPerToken: z.number().positive(),
  vocabulary: z.int().positive().default(128_256),
  memoryShare: z.number().positive().max(1).default(0.9),
});

export const speculationSchema: z.ZodType<SpeculationOptions> = z.strictObject({
  tokens: z.int().min(1).max(SPECULATION_TOKENS_MAX),
  acceptance: z
    .union([share, z.array(share).min(1).max(SPECULATION_TOKENS_MAX)])
    .transform((value) => (typeof value === 'number' ? [value] : value)),
  draftMs: ms.default(0),
});

export const kvLinkSchema: z.ZodType<KvLink> = z.strictObject({
  gigabytesPerSecond: z.number().positive().default(KV_LINK_DEFAULT.gigabytesPerSecond),
  setupMs: ms.default(KV_LINK_DEFAULT.setupMs),
  bytesPerToken: z.number().positive().default(KV_LINK_DEFAULT.bytesPerToken),
});

/** Memory of the host that keeps KV: so many blocks, or so many GiB. */
export interface HostTierSize {
  readonly blocks?: number | undefined;
  readonly gibibytes?: number | undefined;
  readonly gigabytesPerSecond: number;
  readonly setupMs: number;
}

export const hostTierSchema: z.ZodType<HostTierSize> = z
  .strictObject({
    blocks: positive,
    /** Instead of blocks. */
    gibibytes: z.number().positive().optional(),
    gigabytesPerSecond: z.number().positive().default(HOST_TIER_DEFAULT.gigabytesPerSecond),
    setupMs: ms.default(HOST_TIER_DEFAULT.setupMs),
  })
  .refine(({ blocks, gibibytes }) => (blocks === undefined) !== (gibibytes === undefined), {
    message: 'needs either blocks or gibibytes, and not both',
  });

/** Blocks of so many GiB hold `bytesPerToken` for each of their tokens, as those of a transfer. */
export function hostTierOf(
  { gibibytes = 0, ...size }: HostTierSize,
  { bytesPerToken }: KvLink,
  blockTokens: number,
): HostTierOptions {
  const fitting = Math.floor((gibibytes * 2 ** 30) / (bytesPerToken * blockTokens));
  return { ...size, bytesPerToken, blocks: size.blocks ?? Math.max(1, fitting) };
}
