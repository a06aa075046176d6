import { z } from 'zod';
import { type DeciderDefinition, defineDecider } from '../../framework/plugin.ts';

/** Every request with images, video or sound has its stage served elsewhere: for encoders, who have nothing to do for others. */
export const alwaysMultimodal: DeciderDefinition = defineDecider({
  type: 'always-disagg-multimodal-decider',
  config: z.strictObject({}),
  create: () => ({
    separates: (_decode, { request: { mediaItems = 0 } }) => mediaItems > 0,
  }),
});
