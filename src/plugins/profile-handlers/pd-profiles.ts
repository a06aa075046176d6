import { z } from 'zod';
import { defineProfileHandler, type ProfileHandlerDefinition } from '../../framework/plugin.ts';
import { behindPort } from './data-parallel.ts';
import { createDisaggregation } from './disaggregation.ts';

/** The reference's deprecated handler for prefill and decode: see `disagg-profile-handler`. */
export const pdProfiles: ProfileHandlerDefinition = defineProfileHandler({
  type: 'pd-profile-handler',
  config: z.strictObject({
    decodeProfile: z.string().min(1).default('decode'),
    prefillProfile: z.string().min(1).default('prefill'),
    deciderPluginName: z.string().min(1).optional(),
    /** The port of the server that its ranks are behind; 0 sends requests to the rank itself. */
    primaryPort: z.int().min(0).max(65_535).default(0),
    /** Parameters of older versions of the reference, without effect. */
    prefixPluginType: z.string().optional(),
    prefixPluginName: z.string().optional(),
    hashBlockSize: z.int().optional(),
  }),
  create({ decodeProfile, prefillProfile, deciderPluginName, primaryPort }, parts) {
    const handler = createDisaggregation(
      {
        type: 'pd-profile-handler',
        stageOrder: 'decode-first',
        profiles: { decode: decodeProfile, prefill: prefillProfile, encode: 'encode' },
        deciders: { prefill: deciderPluginName },
      },
      parts,
    );
    return primaryPort === 0 ? handler : behindPort(handler, primaryPort);
  },
});
