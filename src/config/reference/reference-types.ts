import { z } from 'zod';
import { PARSER_TYPES } from '../../framework/parser-type.ts';
import { type DataSourceDefinition, defineDataSource } from '../../framework/plugin.ts';

/** Plugin types of the reference picker that are not built-in plugins here. */

const LEDGER = 'the ledger always counts what is in flight';
const BY_HANDLER = 'the profile handler itself sets the headers';
const OWN_PREDICTION = 'the picker predicts latencies with the model that it learns';
const BY_LOADS =
  'the ledger counts an answer by what its request says of its length, where inflight-load-producer has addEstimatedOutputTokens';
const OWN_SESSIONS =
  'sessions are counted where a plugin needs them, and no plugin reads these counts';
const BY_NATS = 'replicas find each other over NATS, where serve gets --replicas-nats';
const SHARED_BY_NATS = 'replicas share over NATS, where serve gets --replicas-nats';
const OF_ONE = 'what one replica knows is in its memory, and it shares only with --replicas-nats';
const PARSER = 'a parser has no parameters';
const BY_DISCOVERY = 'discovery reports each change of endpoints to every plugin';

const prefillHeaders = (): z.ZodRawShape => ({
  prefillProfile: z.string().optional(),
  encodeProfile: z.string().optional(),
});

/** A password stands in none of them: the reference refuses one, too. */
const redis = (): z.ZodRawShape => ({
  address: z.string().optional(),
  passwordEnv: z.string().optional(),
  passwordFile: z.string().optional(),
  db: z.int().nonnegative().optional(),
  stateTTL: z.union([z.string(), z.number()]).optional(),
  coordinationTTL: z.union([z.string(), z.number()]).optional(),
});

interface AcceptedType {
  readonly type: string;
  /** One sentence: how the picker does the type's work without it. */
  readonly instead: string;
  readonly parameters: () => z.ZodRawShape;
}

/** Types whose work the picker itself does. */
const ACCEPTED: readonly AcceptedType[] = [
  {
    type: 'inflight-load-producer',
    instead: LEDGER,
    parameters: () => ({
      addEstimatedOutputTokens: z.boolean().optional(),
      outputRatio: z.number().nonnegative().optional(),
      maxEstimatedOutputTokens: z.int().nonnegative().optional(),
      prefixMatchInfoProducerName: z.string().optional(),
      syncCrossReplicaState: z.boolean().optional(),
    }),
  },
  { type: 'disagg-headers-handler', instead: BY_HANDLER, parameters: prefillHeaders },
  { type: 'prefill-header-handler', instead: BY_HANDLER, parameters: prefillHeaders },
  {
    type: 'predicted-latency-producer',
    instead: OWN_PREDICTION,
    parameters: () => ({
      sloBufferFactor: z.number().positive().optional(),
      contextTTL: z.int('must be a whole number of nanoseconds, such as 300000000000').optional(),
      encoderCacheMatchInfoProducerName: z.string().optional(),
      streamingMode: z.boolean().optional(),
      endpointRoleLabel: z.string().optional(),
      predictInProduce: z.boolean().optional(),
      useEncoderCacheFeatures: z.boolean().optional(),
      prefixMatchInfoProducerName: z.string().optional(),
      inFlightLoadProducerName: z.string().optional(),
      samplingMean: z.number().positive().optional(),
      maxDecodeTokenSamplesForPrediction: z.int().nonnegative().optional(),
    }),
  },
  {
    type: 'session-state-producer',
    instead: OWN_SESSIONS,
    parameters: () => ({
      evictionTtlSeconds: z.int().nonnegative().optional(),
      evictionSweepSeconds: z.int().positive().optional(),
    }),
  },
  {
    type: 'k8s-peer-discovery',
    instead: BY_NATS,
    parameters: () => ({
      selector: z.string().min(1),
      port: z.string().min(1),
      namespace: z.string().min(1),
    }),
  },
  { type: 'redis-syncer', instead: SHARED_BY_NATS, parameters: redis },
  { type: 'redis-state-store', instead: SHARED_BY_NATS, parameters: redis },
  { type: 'local-syncer', instead: OF_ONE, parameters: () => ({}) },
  { type: 'outlen-bucket', instead: BY_LOADS, parameters: () => ({}) },
  { type: 'endpoint-notification-source', instead: BY_DISCOVERY, parameters: () => ({}) },
  {
    type: 'k8s-notification-source',
    instead: BY_DISCOVERY,
    parameters: () => ({
      group: z.string().optional(),
      version: z.string().min(1),
      kind: z.string().min(1),
    }),
  },
  ...PARSER_TYPES.map((type) => ({ type, instead: PARSER, parameters: () => ({}) })),
];

/** Data sources that do nothing, so that configurations with these types load unchanged. */
export const acceptedSources: readonly DataSourceDefinition[] = ACCEPTED.map(
  ({ type, parameters, instead }) =>
    defineDataSource({
      type,
      config: z.lazy(() => z.strictObject(parameters())),
      start: () => ({
        describeState: () => ({
          stateful: false,
          stateLocation: { owner: 'the picker', reason: instead },
        }),
        stop: () => undefined,
      }),
    }),
);

/** How the picker itself does the work of an accepted type; undefined for any other type. */
export function coreInsteadOf(type: string): string | undefined {
  return ACCEPTED.find((accepted) => accepted.type === type)?.instead;
}
