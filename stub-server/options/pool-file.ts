import { z } from 'zod';
import { readYaml } from '../../src/files/read-yaml.ts';
import { ConfigError } from '../../src/framework/error.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { chaos } from '../faults/chaos.ts';
import { timedFaultSchema } from '../faults/fault.ts';
import { type StubOptions, stubOptions } from './stub-options.ts';

const positive = z.number().positive();
/** What is common to all servers stands beside them; each is checked with it, so a misspelt field is found there. */
const schema = z.looseObject({
  servers: z.array(z.looseObject({ count: z.int().min(1).max(1000).default(1) })).min(1),
  seed: z.int().nonnegative().default(1),
  faults: z.array(timedFaultSchema).default([]),
  /** Faults drawn by chance from the pool's seed, besides those listed. */
  chaos: z.strictObject({ everyMs: positive, forMs: positive, untilMs: positive }).optional(),
});

/** Reads a pool of unlike stubs from YAML: one set of options a server. Throws ConfigError with every issue. */
export function readPoolFile(text: string, source: string): readonly StubOptions[] {
  const {
    servers,
    chaos: drawn,
    faults: listed,
    ...common
  } = checked(schema, readYaml(text, source), source, '');
  const faults = [...listed];
  const count = servers.reduce((sum, server) => sum + server.count, 0);
  if (drawn !== undefined) {
    faults.push(...chaos(seededRandom(common.seed).fork('chaos'), { ...drawn, servers: count }));
  }
  const strange = faults.find(({ server }) => server >= count);
  if (strange !== undefined) {
    const message = `names server ${strange.server}, and the pool has ${count}, counted from 0`;
    throw new ConfigError(source, [{ path: 'faults', message }]);
  }
  return servers.flatMap((server, index) => {
    const options = checked(
      stubOptions,
      { ...common, ...server, faults },
      source,
      `servers.${index}`,
    );
    return Array.from({ length: server.count }, () => options);
  });
}

function checked<T>(type: z.ZodType<T>, raw: unknown, source: string, at: string): T {
  const parsed = type.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => ({
    path: [at, ...path].filter((part) => part !== '').join('.') || 'pool',
    message,
  }));
  throw new ConfigError(source, issues);
}
