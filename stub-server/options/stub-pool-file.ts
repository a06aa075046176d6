import { z } from 'zod';
import { otherPurpose } from '../../src/files/reading/file-purpose.ts';
import { readYaml } from '../../src/files/reading/read-yaml.ts';
import { ConfigError } from '../../src/framework/error.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { chaos } from '../faults/chaos.ts';
import { timedFaultSchema } from '../faults/fault.ts';
import { scheduleIssues } from '../faults/schedule-issues.ts';
import { checkOptions } from './check-options.ts';
import { BLOCK_TOKENS_DEFAULT, type StubOptions, stubOptions } from './stub-options.ts';

const positive = z.number().positive();
const size = z.int().positive().optional();
/** Fields that the pool files of `pointsman simulate` have, so that one file serves both. */
const simulated = {
  /** For filters and scorers of a picker, to which its list of endpoints says them. */
  labels: z.record(z.string(), z.string()).optional(),
  kvTokens: size,
  loraSlots: size,
};
/** How many times as long steps take where a fault of a simulation does not say it. */
const SLOW_FACTOR = 4;
/** A fault with its fields beside those of its time, as simulations have it. */
const fault = z.preprocess((given) => {
  const { server, atMs, forMs, ...flat } = Object(given);
  if (flat.kind === undefined) return given;
  const described = flat.kind === 'slow' ? { factor: SLOW_FACTOR, ...flat } : flat;
  return { server, atMs, forMs, fault: described };
}, timedFaultSchema);
/** Options beside `servers` apply to all servers; `stubOptions` checks them for each server. */
const schema = z.looseObject({
  servers: z
    .array(z.looseObject({ count: z.int().min(1).max(1000).default(1), ...simulated }))
    .min(1),
  seed: z.int().nonnegative().default(1),
  faults: z.array(fault).default([]),
  /** Random faults from the pool's seed, in addition to `faults`. */
  chaos: z.strictObject({ everyMs: positive, forMs: positive, untilMs: positive }).optional(),
});

/**
 * Reads the options of each server of a pool from YAML; `places` (host, port, spread) count more
 * than what the file says of them. Throws ConfigError with every issue.
 */
export function readPoolFile(
  text: string,
  source: string,
  places: object = {},
): readonly StubOptions[] {
  const value = readYaml(text, source);
  const other = otherPurpose(value, { field: 'servers', noun: 'pool of servers' });
  if (other !== undefined) throw new ConfigError(source, [{ path: 'file', message: other }]);
  const pool = checkOptions(schema, value, { source, fallback: 'pool' });
  const { servers, chaos: random, ...common } = pool;
  const faults = [...pool.faults];
  const count = servers.reduce((sum, server) => sum + server.count, 0);
  const written = faults.map(({ fault, ...when }) => ({ ...when, kind: fault.kind }));
  const issues = scheduleIssues(written, count);
  if (issues.length > 0) throw new ConfigError(source, issues);
  if (random !== undefined) {
    faults.push(...chaos(seededRandom(common.seed).fork('chaos'), { ...random, servers: count }));
  }
  return servers.flatMap((server, index) => {
    const own = { ...common, ...optionsOf(server, common), faults, ...places };
    const options = checkOptions(stubOptions, own, { source, at: [`servers.${index}`] });
    return Array.from({ length: server.count }, () => options);
  });
}

/** The options of a server, those that have another name in simulations under the stub's. */
function optionsOf(
  { labels: _labels, kvTokens, loraSlots, ...server }: z.infer<typeof schema>['servers'][number],
  common: Readonly<Record<string, unknown>>,
): object {
  const blockTokens = Number(
    server['blockTokens'] ?? common['blockTokens'] ?? BLOCK_TOKENS_DEFAULT,
  );
  return {
    ...(kvTokens !== undefined && { kvBlocks: Math.floor(kvTokens / blockTokens) }),
    ...(loraSlots !== undefined && { lorasMax: loraSlots, loraEnabled: true }),
    ...server,
  };
}
