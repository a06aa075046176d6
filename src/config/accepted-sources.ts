import { z } from 'zod';
import { type DataSourceDefinition, defineDataSource } from '../framework/plugin.ts';

/**
 * Plugin types of the reference whose work is part of our core, so that its configurations load unchanged. Their
 * parameters are checked; those that have an effect here say so.
 */
export const acceptedSources: readonly DataSourceDefinition[] = [
  // The ledger counts what is in flight, always.
  builtIn('inflight-load-producer', {
    addEstimatedOutputTokens: z.boolean().optional(),
    outputRatio: z.number().positive().optional(),
    maxEstimatedOutputTokens: z.int().positive().optional(),
    prefixMatchInfoProducerName: z.string().optional(),
    syncCrossReplicaState: z.boolean().optional(),
  }),
  // Request parsing estimates tokens while the body arrives.
  builtIn('token-producer', {
    modelName: z.string().optional(),
    estimate: z.record(z.string(), z.unknown()).optional(),
  }),
];

function builtIn(type: string, shape: z.ZodRawShape): DataSourceDefinition {
  return defineDataSource({
    type,
    config: z.strictObject(shape),
    start: () => ({ stop: () => undefined }),
  });
}
