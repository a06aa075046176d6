import { z } from 'zod';
import { ConfigError, RoutingError } from '../../framework/error.ts';
import { defineProfileHandler, type ProfileHandlerDefinition } from '../../framework/plugin.ts';
import { decisionOfOne } from './decision-of-one.ts';

/** A text without the spaces around it; without one, or with an empty one, the default. */
const trimmedTextOr = (byDefault: string): z.ZodType<string> =>
  z
    .string()
    .default(byDefault)
    .transform((given) => given.trim() || byDefault);

/**
 * Runs the profile that a header of the request names, or `defaultProfile` without the header. A
 * name that is no profile is answered with 429, as by the reference. A single profile is always
 * run.
 */
export const headerProfile: ProfileHandlerDefinition = defineProfileHandler({
  type: 'header-profile-handler',
  config: z.lazy(() =>
    z.strictObject({
      headerName: trimmedTextOr('epp-profile').transform((name) => name.toLowerCase()),
      defaultProfile: trimmedTextOr('decode'),
    }),
  ),
  headers: ({ headerName }) => [{ name: headerName, as: 'name' }],
  create({ headerName, defaultProfile }, { profiles }) {
    const [only, ...others] = profiles.values();
    if (only === undefined) {
      const message = 'header-profile-handler has no profile to run';
      throw new ConfigError('header-profile-handler', [{ path: 'schedulingProfiles', message }]);
    }
    return {
      next(done, { request }) {
        if (done.length > 0) return undefined;
        if (others.length === 0) return only;
        const name = request.headers.get(headerName)?.trim() ?? '';
        const profile = profiles.get(name === '' ? defaultProfile : name);
        if (profile !== undefined) return profile;
        const known = [...profiles.keys()].join(', ');
        const why =
          name === ''
            ? `header ${headerName} is missing, and the profile ${defaultProfile} for that case is none of ${known}`
            : `header ${headerName} names the profile ${name}, which is none of ${known}`;
        throw new RoutingError('unknown-profile', why);
      },
      conclude: decisionOfOne,
    };
  },
});
