import { z } from 'zod';
import { type DataSourceDefinition, defineDataSource } from '../framework/plugin.ts';

const LEDGER = 'the ledger counts what is in flight, always';
const BY_HANDLER = 'the profile handler sets the headers itself';
const OWN_PREDICTION = 'latencies are predicted by the model that the picker learns';
const BY_PATH = 'a body is read as its path says';

const inflightLoad = {
  addEstimatedOutputTokens: z.boolean().optional(),
  outputRatio: z.number().positive().optional(),
  maxEstimatedOutputTokens: z.int().positive().optional(),
  prefixMatchInfoProducerName: z.string().optional(),
  syncCrossReplicaState: z.boolean().optional(),
};

const prefillHeaders = {
  prefillProfile: z.string().optional(),
  encodeProfile: z.string().optional(),
};

const predictedLatency = {
  sloBufferFactor: z.number().optional(),
  contextTTL: z.string().optional(),
  streamingMode: z.boolean().optional(),
  endpointRoleLabel: z.string().optional(),
  predictInProduce: z.boolean().optional(),
  useEncoderCacheFeatures: z.boolean().optional(),
  prefixMatchInfoProducerName: z.string().optional(),
  inFlightLoadProducerName: z.string().optional(),
  samplingMean: z.number().optional(),
  maxDecodeTokenSamplesForPrediction: z.number().optional(),
};

/** Plugin types of the reference whose work our core does, with the sentence that says how. */
const ACCEPTED: readonly {
  readonly type: string;
  readonly instead: string;
  readonly shape: z.ZodRawShape;
}[] = [
  { type: 'inflight-load-producer', instead: LEDGER, shape: inflightLoad },
  { type: 'disagg-headers-handler', instead: BY_HANDLER, shape: prefillHeaders },
  { type: 'prefill-header-handler', instead: BY_HANDLER, shape: prefillHeaders },
  { type: 'predicted-latency-producer', instead: OWN_PREDICTION, shape: predictedLatency },
  { type: 'openai-parser', instead: BY_PATH, shape: {} },
  { type: 'anthropic-parser', instead: BY_PATH, shape: {} },
  { type: 'vllmhttp-parser', instead: BY_PATH, shape: {} },
  { type: 'passthrough-parser', instead: BY_PATH, shape: {} },
];

const FLOW_CONTROL = 'flow control has no effect yet';

/** Plugin types of the reference that belong to what is not there yet: a configuration with them loads and is warned of. */
const NOT_YET: ReadonlyMap<string, z.ZodRawShape> = new Map([
  ['fcfs-ordering-policy', {}],
  ['edf-ordering-policy', {}],
  ['slo-deadline-ordering-policy', {}],
  ['global-strict-fairness-policy', {}],
  ['round-robin-fairness-policy', {}],
  ['static-usage-limit-policy', { threshold: z.number().optional() }],
  ['latency-slo-admitter', {}],
]);

/**
 * They do nothing, so that a configuration that names them loads unchanged. Their parameters are checked, and have no
 * effect.
 */
export const acceptedSources: readonly DataSourceDefinition[] = [
  ...ACCEPTED,
  ...[...NOT_YET].map(([type, shape]) => ({ type, shape })),
].map(({ type, shape }) =>
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

/** Why an accepted plugin type changes nothing yet; undefined for any other type. */
export function notYet(type: string): string | undefined {
  return NOT_YET.has(type) ? FLOW_CONTROL : undefined;
}
