import { z } from 'zod';
import { defineProfileHandler, type ProfileHandlerDefinition } from '../../framework/plugin.ts';
import { otherProducer } from '../parameters/producer-name.ts';
import { behindPort } from './data-parallel.ts';
import {
  createDisaggregation,
  type DisaggregationConfig,
  disaggregationFaults,
} from './disaggregation.ts';

const DEFAULT_DECIDER = 'prefix-based-pd-decider';

function stagesOf({
  decodeProfile,
  prefillProfile,
  deciderPluginName,
}: {
  readonly decodeProfile: string;
  readonly prefillProfile: string;
  readonly deciderPluginName: string;
}): DisaggregationConfig {
  return {
    type: 'pd-profile-handler',
    stageOrder: 'decode-first',
    profiles: { decode: decodeProfile, prefill: prefillProfile, encode: 'encode' },
    deciders: { prefill: deciderPluginName },
  };
}

/** The reference's deprecated handler for prefill and decode: see `disagg-profile-handler`. */
export const pdProfiles: ProfileHandlerDefinition = defineProfileHandler({
  type: 'pd-profile-handler',
  config: z.lazy(() =>
    z.strictObject({
      decodeProfile: z.string().min(1).default('decode'),
      prefillProfile: z.string().min(1).default('prefill'),
      deciderPluginName: z.string().min(1).default(DEFAULT_DECIDER),
      /** The port of the server that its ranks are behind; 0 sends requests to the rank itself. */
      primaryPort: z.int().min(0).max(65_535).default(0),
      /** Parameters of older versions of the reference, without effect. */
      prefixPluginType: z.string().optional(),
      prefixPluginName: z.string().optional(),
      hashBlockSize: z.int().optional(),
      prefixMatchInfoProducerName: otherProducer,
    }),
  ),
  faults: (config, names) =>
    disaggregationFaults(stagesOf(config), names).map(({ path, message }) => ({
      path: path === 'deciders.prefill' ? 'deciderPluginName' : path,
      message,
    })),
  create(config, parts) {
    const handler = createDisaggregation(stagesOf(config), parts);
    return config.primaryPort === 0 ? handler : behindPort(handler, config.primaryPort);
  },
});
