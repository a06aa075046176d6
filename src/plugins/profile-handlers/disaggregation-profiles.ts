import { z } from 'zod';
import { defineProfileHandler, type ProfileHandlerDefinition } from '../../framework/plugin.ts';
import {
  createDisaggregation,
  type DisaggregationConfig,
  disaggregationFaults,
} from './disaggregation.ts';

const TYPE = 'disagg-profile-handler';

/** An empty name, as Go writes what is not set, is none. */
const name = z
  .string()
  .optional()
  .transform((given) => given || undefined);

const STAGE_ORDERS = ['decode-first', 'prefill-first'] as const;

/** Case and separators do not count, and the first stage may stand alone, as in the reference. */
const stageOrder = z
  .string()
  .default('decode-first')
  .transform((given, context) => {
    const first = given
      .toLowerCase()
      .replaceAll(/[-_]/g, '')
      .replace(/(?<=.)first$/, '');
    const order =
      first === '' ? 'decode-first' : STAGE_ORDERS.find((one) => one === `${first}-first`);
    if (order !== undefined) return order;
    context.addIssue({ code: 'custom', message: `must be one of ${STAGE_ORDERS.join(', ')}` });
    return z.NEVER;
  });

const fields = z.lazy(() =>
  z.strictObject({
    stageOrder,
    profiles: z
      .strictObject({ decode: name, prefill: name, encode: name, fallback: name })
      .prefault({}),
    deciders: z.strictObject({ prefill: name, encode: name }).prefault({}),
    /** Our addition; as in the reference's later releases, a file of `llm-d.ai/v1` has it on. */
    prefillRequired: z.boolean().default(false),
    // The reference's older names for the same, which may not be mixed with the newer ones.
    decodeProfile: name,
    prefillProfile: name,
    encodeProfile: name,
    prefillDeciderPluginName: name,
    deciderPluginName: name,
    encodeDeciderPluginName: name,
  }),
);

type Fields = z.output<typeof fields>;

const config = fields
  .refine((given) => !(hasNested(given) && hasFlat(given)), {
    message:
      'has the older flat names beside profiles or deciders; write all of them as profiles and deciders',
  })
  .transform((given): Omit<DisaggregationConfig, 'type'> => {
    const { stageOrder, profiles, deciders, prefillRequired } = given;
    return {
      stageOrder,
      profiles: {
        decode: profiles.decode ?? given.decodeProfile ?? 'decode',
        prefill: profiles.prefill ?? given.prefillProfile ?? 'prefill',
        encode: profiles.encode ?? given.encodeProfile ?? 'encode',
      },
      fallback: profiles.fallback,
      prefillRequired,
      deciders: {
        prefill: deciders.prefill ?? given.prefillDeciderPluginName ?? given.deciderPluginName,
        encode: deciders.encode ?? given.encodeDeciderPluginName,
      },
    };
  });

function hasNested({ profiles, deciders }: Fields): boolean {
  return [...Object.values(profiles), ...Object.values(deciders)].some(isGiven);
}

function hasFlat(given: Fields): boolean {
  return [
    given.decodeProfile,
    given.prefillProfile,
    given.encodeProfile,
    given.prefillDeciderPluginName,
    given.deciderPluginName,
    given.encodeDeciderPluginName,
  ].some(isGiven);
}

function isGiven(value: string | undefined): boolean {
  return value !== undefined;
}

/** Serves prefill, decode and encode on separate endpoints, each picked by its profile. */
export const disaggregationProfiles: ProfileHandlerDefinition = defineProfileHandler({
  type: TYPE,
  config,
  faults: disaggregationFaults,
  create: (given, parts) => createDisaggregation({ ...given, type: TYPE }, parts),
});
