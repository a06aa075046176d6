import { z } from 'zod';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';

/** Serves the stage of every request elsewhere. */
export const alwaysDisaggregate: DeciderDefinition = defineDecider({
  type: 'always-disagg-pd-decider',
  config: z.strictObject({}),
  create: () => ({ separates: () => true }),
});

/** Serves the stage elsewhere for requests with images, video or sound: for encoders. */
export const alwaysMultimodal: DeciderDefinition = defineDecider({
  type: 'always-disagg-multimodal-decider',
  config: z.strictObject({}),
  create: () => ({
    separates: (_decode, { request: { mediaItems = 0 } }) => mediaItems > 0,
  }),
});
