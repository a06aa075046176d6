import { z } from 'zod';
import { LORA_DEFAULTS } from '../../../stub-server/engine/lora-slots.ts';
import { scheduleIssues } from '../../../stub-server/faults/schedule-issues.ts';
import { KV_LINK_DEFAULT } from '../../../stub-server/pd/kv-fabric.ts';
import { PRESETS, type PresetName } from '../../../stub-server/presets/presets.ts';
import { otherPurpose } from '../../files/reading/file-purpose.ts';
import { readYaml } from '../../files/reading/read-yaml.ts';
import { zodIssues } from '../../files/reading/zod-issues.ts';
import { ENGINE_COUNT_MAX } from '../../framework/endpoint-attributes.ts';
import { ConfigError } from '../../framework/error.ts';
import { ROLE_LABEL } from '../../framework/roles.ts';
import { type PoolSpec, presetServer, type ServerSpec } from './pool-spec.ts';

const presetNames = Object.keys(PRESETS) as [PresetName, ...PresetName[]];

const server = z.strictObject({
  /** Number of such servers. */
  count: z.int().positive().max(10_000).default(1),
  preset: z.enum(presetNames).default('llama-3.1-8b-h100'),
  labels: z.record(z.string(), z.string()).default({}),
  /** For configurations with disaggregated prefill. */
  role: z.enum(['both', 'prefill', 'decode']).default('both'),
  kvLink: z
    .strictObject({
      gigabytesPerSecond: z.number().positive().default(KV_LINK_DEFAULT.gigabytesPerSecond),
      setupMs: z.number().nonnegative().default(KV_LINK_DEFAULT.setupMs),
      bytesPerToken: z.number().positive().default(KV_LINK_DEFAULT.bytesPerToken),
    })
    .default(KV_LINK_DEFAULT),
  /** Data-parallel ranks behind one address: memory and limits below are those of each. */
  engines: z.int().min(1).max(ENGINE_COUNT_MAX).default(1),
  /** Whether each of them is an endpoint, and the picker names it to the server. */
  steered: z.boolean().default(false),
  kvTokens: z.int().positive().optional(),
  contextTokensMax: z.int().positive().optional(),
  sequencesMax: z.int().positive().optional(),
  batchedTokensMax: z.int().positive().optional(),
  admissionMs: z.number().nonnegative().optional(),
  /** How many times as long as those of the preset its steps take. */
  slowdown: z.number().positive().default(1),
  jitter: z.number().nonnegative().max(1).default(0.05),
  /** LoRA adapters in one batch; without it the server has no adapters. */
  loraSlots: z.int().positive().optional(),
});

const fault = z.strictObject({
  kind: z.enum(['crash', 'slow']),
  /** Index in the pool, from 0. */
  server: z.int().nonnegative(),
  atMs: z.number().nonnegative(),
  forMs: z.number().positive(),
  factor: z.number().positive().default(4),
});

const file = z.strictObject({
  servers: z.array(server).min(1),
  faults: z.array(fault).default([]),
});

/** Pool files of the stub have more fields, and other forms of faults. */
const OF_THE_STUB = {
  path: 'servers',
  message:
    'and faults have the fields of docs/simulate.md here; a file for `pointsman stub` has others, and the stub takes a file for simulate, too',
};

/** Reads a pool of simulated servers from YAML. Throws ConfigError with every issue. */
export function readPool(text: string, source: string): PoolSpec {
  const value = readYaml(text, source);
  const other = otherPurpose(value, { field: 'servers', noun: 'pool of servers' });
  if (other !== undefined) throw new ConfigError(source, [{ path: 'file', message: other }]);
  const parsed = file.safeParse(value);
  if (!parsed.success) {
    const issues = zodIssues(parsed.error, { schema: file });
    const unknown = issues.some(({ message }) => message.startsWith('is not a known field'));
    throw new ConfigError(source, unknown ? [...issues, OF_THE_STUB] : issues);
  }
  const servers = parsed.data.servers
    .flatMap((group) => Array.from({ length: group.count }, () => serverOf(group)))
    .map((each, index) => ({ ...each, id: `server-${index}` }));
  const issues = scheduleIssues(parsed.data.faults, servers.length);
  if (issues.length > 0) throw new ConfigError(source, issues);
  const faults = parsed.data.faults.flatMap(({ server: index, ...rest }) => {
    const target = servers[index];
    return target === undefined ? [] : [{ ...rest, server: target.id }];
  });
  return { servers, faults };
}

function serverOf(group: z.infer<typeof server>): Omit<ServerSpec, 'id'> {
  const preset = presetServer(group.preset);
  const { slowdown, loraSlots, kvLink, jitter } = group;
  return {
    ...preset,
    kvLink,
    slowdown,
    jitter,
    ...(group.engines > 1 && { engines: group.engines, steered: group.steered }),
    labels: { ...(group.role !== 'both' && { [ROLE_LABEL]: group.role }), ...group.labels },
    kvTokens: group.kvTokens ?? preset.kvTokens,
    ...(group.contextTokensMax !== undefined && { contextTokensMax: group.contextTokensMax }),
    sequencesMax: group.sequencesMax ?? preset.sequencesMax,
    batchedTokensMax: group.batchedTokensMax ?? preset.batchedTokensMax,
    admissionMs: group.admissionMs ?? preset.admissionMs,
    ...(loraSlots !== undefined && {
      loras: { ...LORA_DEFAULTS, slots: loraSlots, hostSlots: Math.max(16, loraSlots) },
    }),
  };
}
