import { z } from 'zod';
import { ConfigError } from '../../framework/error.ts';
import { defineProfileHandler, type ProfileHandlerDefinition } from '../../framework/plugin.ts';
import { decisionOfOne } from './decision-of-one.ts';

/** Runs the only profile there is. */
export const singleProfileHandler: ProfileHandlerDefinition = defineProfileHandler({
  type: 'single-profile-handler',
  config: z.strictObject({}),
  create(_config, { profiles }) {
    const [profile, ...others] = profiles.values();
    if (profile === undefined || others.length > 0) {
      throw new ConfigError('single-profile-handler', [
        {
          path: 'schedulingProfiles',
          message: `single-profile-handler runs exactly one profile, got ${profiles.size}`,
        },
      ]);
    }
    return {
      next: (done) => (done.length === 0 ? profile : undefined),
      conclude: decisionOfOne,
    };
  },
});
