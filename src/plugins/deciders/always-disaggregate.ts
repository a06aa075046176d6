import { z } from 'zod';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';

/** Serves the stage of every request elsewhere. */
export const alwaysDisaggregate: DeciderDefinition = defineDecider({
  type: 'always-disagg-pd-decider',
  config: z.strictObject({}),
  create: () => ({ separates: () => true }),
});
