import type { Endpoint } from '../../framework/endpoint.ts';
import { ConfigError, type ConfigIssue, invariant } from '../../framework/error.ts';
import type { HandlerParts } from '../../framework/plugin.ts';
import type {
  Decider,
  ProfileHandler,
  ProfileResult,
  SchedulingContext,
  SchedulingProfile,
} from '../../framework/scheduling.ts';
import { disaggregationHeaders } from './disaggregation-headers.ts';

export type Stage = 'decode' | 'prefill' | 'encode';

export interface DisaggregationConfig {
  /** For messages. */
  readonly type: string;
  readonly stageOrder: 'decode-first' | 'prefill-first';
  readonly profiles: Readonly<Record<Stage, string>>;
  readonly deciders: {
    readonly prefill?: string | undefined;
    readonly encode?: string | undefined;
  };
}

/**
 * Runs a profile for each stage that is to be served by an endpoint of its own. The decode profile's pick is the primary;
 * of the others one that finds nobody is left out, and the request is served by decode alone. Decode first: the deciders
 * see the pick, and without a pick nothing else runs. Prefill first: prefill runs whenever it has a profile, and decode
 * is picked to go with it. Throws ConfigError.
 */
export function createDisaggregation(
  config: DisaggregationConfig,
  { profiles, deciders }: HandlerParts,
): ProfileHandler {
  const names = config.profiles;
  const issues = faultsOf(config, { profiles, deciders });
  const decode = profiles.get(names.decode);
  if (decode === undefined || issues.length > 0) throw new ConfigError(config.type, issues);
  const prefillFirst = config.stageOrder === 'prefill-first';
  const resultOf = (done: readonly ProfileResult[], stage: Stage): ProfileResult | undefined =>
    done.find(({ profile }) => profile === names[stage]);
  const optional = (
    stage: 'prefill' | 'encode',
    done: readonly ProfileResult[],
    context: SchedulingContext,
  ): SchedulingProfile | undefined => {
    const profile = profiles.get(names[stage]);
    const decider: Decider | undefined = deciders.get(config.deciders[stage] ?? '');
    const decoder = pickOf(resultOf(done, 'decode'));
    if (profile === undefined || resultOf(done, stage) !== undefined) return undefined;
    if (stage === 'prefill' && prefillFirst) return profile;
    // Decided by what the decoding endpoint would have to do: before it is known, there is nothing to decide by.
    if (decider === undefined || decoder === undefined) return undefined;
    return decider.separates(decoder, context) ? profile : undefined;
  };
  return {
    next(done, context) {
      const decoded = resultOf(done, 'decode');
      if (prefillFirst && decoded === undefined)
        return optional('prefill', done, context) ?? decode;
      if (decoded === undefined) return decode;
      if (decoded.kind === 'exhausted') return undefined;
      return (
        optional('encode', done, context) ??
        (prefillFirst ? undefined : optional('prefill', done, context))
      );
    },
    peer: (done) => pickOf(resultOf(done, prefillFirst ? 'prefill' : 'decode')),
    conclude(done, context) {
      const primary = resultOf(done, 'decode');
      invariant(primary !== undefined, 'concluded before the decode profile ran');
      const [decoder, other] = [pickOf(primary), pickOf(resultOf(done, 'prefill'))];
      const decider = deciders.get(config.deciders.prefill ?? '');
      const worth =
        decoder === undefined || other === undefined
          ? true
          : (decider?.keeps?.(decoder, other, context) ?? true);
      const prefill = worth ? other : undefined;
      const encoders = picksOf(resultOf(done, 'encode'));
      const headers = disaggregationHeaders({ prefill, encoders });
      return { primary, headers, prefill, encoders, profiles: done };
    },
  };
}

function pickOf(result: ProfileResult | undefined): Endpoint | undefined {
  return picksOf(result)[0];
}

function picksOf(result: ProfileResult | undefined): readonly Endpoint[] {
  return result?.kind === 'picked' ? result.targets.map(({ endpoint }) => endpoint) : [];
}

function faultsOf(
  { stageOrder, profiles: names, deciders: named }: DisaggregationConfig,
  { profiles, deciders }: HandlerParts,
): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  if (!profiles.has(names.decode)) {
    const message = `has no profile ${names.decode}, by which the decoding endpoint is picked`;
    issues.push({ path: 'schedulingProfiles', message });
  }
  for (const [stage, name] of Object.entries(named)) {
    if (name === undefined || deciders.has(name)) continue;
    issues.push({
      path: `deciders.${stage}`,
      message: `${name} is not the name of a decider in plugins`,
    });
  }
  if (stageOrder === 'prefill-first' && named.prefill !== undefined) {
    const message = 'cannot be with stageOrder prefill-first, where prefill is always separate';
    issues.push({ path: 'deciders.prefill', message });
  }
  return issues;
}
