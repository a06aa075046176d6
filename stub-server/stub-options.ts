import { z } from 'zod';
import { type TimedFault, timedFaultSchema } from './faults/fault.ts';
import type { KvEventFormat } from './kv-events/kv-event.ts';
import type { DialectName } from './metrics/metrics-page.ts';

/** One pool of stubs, as the command line or a file gives it. Times are model time. */
export interface StubOptions {
  readonly count: number;
  readonly host: string;
  /** The first of `count` consecutive ports; 0 takes free ones. */
  readonly port: number;
  readonly model: string;
  /** Whose metrics it shows. */
  readonly engine: DialectName;
  readonly loras: readonly string[];
  readonly lorasMax: number;
  readonly kvBlocks: number;
  readonly blockTokens: number;
  readonly sequencesMax: number;
  readonly batchedTokensMax: number;
  /** How many times faster than life. */
  readonly speed: number;
  readonly seed: number;
  readonly baseMs: number;
  readonly perPrefillTokenMs: number;
  readonly perDecodeSequenceMs: number;
  readonly perContextTokenMs: number;
  readonly admissionMs: number;
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

/** Defaults: the engine of the policy study with vLLM's memory for an 8 B model on one 80 GB accelerator. */
export const stubOptions: z.ZodType<StubOptions> = z.strictObject({
  count: z.int().min(1).max(1000).default(8),
  host: z.string().default('127.0.0.1'),
  port: z.int().min(0).max(65_535).default(8000),
  model: z.string().min(1).default('stub-model'),
  engine: z.enum(['vllm', 'vllm-2025', 'sglang', 'trtllm']).default('vllm'),
  loras: z.array(z.string().min(1)).default([]),
  lorasMax: z.int().positive().default(4),
  kvBlocks: z.int().positive().default(27_000),
  blockTokens: z.int().positive().default(16),
  sequencesMax: z.int().positive().default(256),
  batchedTokensMax: z.int().positive().default(8192),
  speed: z.number().min(0.1).max(10).default(1),
  seed: z.int().nonnegative().default(1),
  baseMs: z.number().nonnegative().default(6),
  perPrefillTokenMs: z.number().nonnegative().default(0.04),
  perDecodeSequenceMs: z.number().nonnegative().default(0.05),
  perContextTokenMs: z.number().nonnegative().default(0.00002),
  admissionMs: z.number().nonnegative().default(0),
  startupMs: z.number().nonnegative().default(0),
  kvEventsPort: z.int().min(0).max(65_535).optional(),
  kvEventsReplayPort: z.int().min(0).max(65_535).optional(),
  kvEventsFormat: z.enum(['array', 'map', 'map-batch']).default('array'),
  faults: z.array(timedFaultSchema).default([]),
});
