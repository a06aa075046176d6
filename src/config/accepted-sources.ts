import { z } from 'zod';
import { type DataSourceDefinition, defineDataSource } from '../framework/plugin.ts';

const LEDGER = 'the ledger counts what is in flight, always';
const BY_PATH = 'a body is read as its path says';

const inflightLoad = {
  addEstimatedOutputTokens: z.boolean().optional(),
  outputRatio: z.number().positive().optional(),
  maxEstimatedOutputTokens: z.int().positive().optional(),
  prefixMatchInfoProducerName: z.string().optional(),
  syncCrossReplicaState: z.boolean().optional(),
};

/** Plugin types of the reference whose work our core does, with the sentence that says how. */
const ACCEPTED: readonly {
  readonly type: string;
  readonly instead: string;
  readonly shape: z.ZodRawShape;
}[] = [
  { type: 'inflight-load-producer', instead: LEDGER, shape: inflightLoad },
  { type: 'openai-parser', instead: BY_PATH, shape: {} },
  { type: 'anthropic-parser', instead: BY_PATH, shape: {} },
  { type: 'vllmhttp-parser', instead: BY_PATH, shape: {} },
  { type: 'passthrough-parser', instead: BY_PATH, shape: {} },
];

/**
 * They do nothing, so that a configuration that names them loads unchanged. Their parameters are checked, and have no
 * effect.
 */
export const acceptedSources: readonly DataSourceDefinition[] = ACCEPTED.map(({ type, shape }) =>
  defineDataSource({
    type,
    config: z.strictObject(shape),
    start: () => ({ stop: () => undefined }),
  }),
);

/** What our core does in place of an accepted plugin type; undefined for any other type. */
export function coreInsteadOf(type: string): string | undefined {
  return ACCEPTED.find((accepted) => accepted.type === type)?.instead;
}
