import { z } from 'zod';
import { defineProfileHandler, type ProfileHandlerDefinition } from '../../framework/plugin.ts';
import { createDisaggregation } from './disaggregation.ts';

const profiles = z.strictObject({
  decode: z.string().min(1).default('decode'),
  prefill: z.string().min(1).default('prefill'),
  encode: z.string().min(1).default('encode'),
});
const deciders = z.strictObject({
  prefill: z.string().min(1).optional(),
  encode: z.string().min(1).optional(),
});

/** Serves prefill, decode and encode on separate endpoints, each picked by its profile. */
export const disaggregationProfiles: ProfileHandlerDefinition = defineProfileHandler({
  type: 'disagg-profile-handler',
  config: z.strictObject({
    stageOrder: z.enum(['decode-first', 'prefill-first']).default('decode-first'),
    profiles: profiles.default(profiles.parse({})),
    deciders: deciders.default({}),
  }),
  create: (config, parts) =>
    createDisaggregation({ ...config, type: 'disagg-profile-handler' }, parts),
});
