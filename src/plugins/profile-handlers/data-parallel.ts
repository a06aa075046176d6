import { z } from 'zod';
import { ConfigError, type ConfigIssue } from '../../framework/error.ts';
import {
  defineProfileHandler,
  type HandlerNames,
  type ProfileHandlerDefinition,
} from '../../framework/plugin.ts';
import type { Decision, ProfileHandler } from '../../framework/scheduling.ts';
import { hostOf } from '../../framework/values/server-address.ts';
import { singleProfileHandler } from './single.ts';

/** Names the rank that the server's front end hands the request to. */
const RANK_HEADER = 'x-data-parallel-host-port';

/**
 * Picks a rank and sends the request to the front end of its server: the destination is the host of
 * the rank with `primaryPort`, and a header names the rank.
 */
export const dataParallel: ProfileHandlerDefinition = defineProfileHandler({
  type: 'data-parallel-profile-handler',
  config: z.lazy(() => z.strictObject({ primaryPort: z.int().min(1).max(65_535).default(8000) })),
  faults: (_config, names) => faultsOf(names),
  create({ primaryPort }, parts, runtime) {
    const issues = faultsOf(parts);
    if (issues.length > 0) throw new ConfigError('data-parallel-profile-handler', issues);
    return behindPort(singleProfileHandler.create({}, parts, runtime), primaryPort);
  },
});

function faultsOf({ profiles }: Pick<HandlerNames, 'profiles'>): readonly ConfigIssue[] {
  if (profiles.size === 1) return [];
  const message = `data-parallel-profile-handler runs exactly one profile, got ${profiles.size}`;
  return [{ path: 'schedulingProfiles', message }];
}

/** Wraps a handler for ranks that are reached through one port of their server. */
export function behindPort(handler: ProfileHandler, primaryPort: number): ProfileHandler {
  return {
    ...handler,
    conclude(done, context) {
      const result = handler.conclude(done, context);
      return throughPort(result, primaryPort);
    },
  };
}

function throughPort(result: Decision, primaryPort: number): Decision {
  if (result.primary.kind !== 'picked') return result;
  const targets = result.primary.targets.map(({ endpoint }) => endpoint);
  const [first] = targets;
  const rank: readonly [string, string][] =
    first === undefined ? [] : [[RANK_HEADER, first.address]];
  return {
    ...result,
    headers: new Map([...result.headers, ...rank]),
    destinations: targets.map(({ address }) => `${hostOf(address)}:${primaryPort}`),
  };
}
