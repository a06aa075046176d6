import { z } from 'zod';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';

/** Every request has its stage served elsewhere. */
export const alwaysDisaggregate: DeciderDefinition = defineDecider({
  type: 'always-disagg-pd-decider',
  config: z.strictObject({}),
  create: () => ({ separates: () => true }),
});
