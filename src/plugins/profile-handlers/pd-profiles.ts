import { z } from 'zod';
import { defineProfileHandler, type ProfileHandlerDefinition } from '../../framework/plugin.ts';
import { behindPort } from './data-parallel.ts';
import { createDisaggregation } from './disaggregation.ts';

/** The reference's deprecated handler for prefill and decode; `disagg-profile-handler` has taken its place. */
export const pdProfiles: ProfileHandlerDefinition = defineProfileHandler({
  type: 'pd-profile-handler',
  config: z.strictObject({
    decodeProfile: z.string().min(1).default('decode'),
    prefillProfile: z.string().min(1).default('prefill'),
    deciderPluginName: z.string().min(1).optional(),
    /** For ranks behind one port of their server; 0 sends to the rank itself. */
    primaryPort: z.int().min(0).max(65_535).default(0),
    /** Of older versions, which looked the match up by plugin. */
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
