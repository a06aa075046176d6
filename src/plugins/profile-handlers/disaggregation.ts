import type { Endpoint } from '../../framework/endpoint.ts';
import { ConfigError, type ConfigIssue, invariant } from '../../framework/error.ts';
import type { HandlerNames, HandlerParts } from '../../framework/plugin.ts';
import type {
  Decider,
  ProfileHandler,
  ProfileResult,
  SchedulingContext,
  SchedulingProfile,
} from '../../framework/scheduling.ts';
import { stageHeaders } from '../../picker/scheduling/stage-headers.ts';

type Stage = 'decode' | 'prefill' | 'encode';

export interface DisaggregationConfig {
  /** The plugin type, for error messages. */
  readonly type: string;
  readonly stageOrder: 'decode-first' | 'prefill-first';
  readonly profiles: Readonly<Record<Stage, string>>;
  /** The profile for endpoints that serve a request whole, where a stage finds none. */
  readonly fallback?: string | undefined;
  /**
   * A request whose separate prefill finds no endpoint is refused; else the decoder computes it.
   */
  readonly prefillRequired?: boolean | undefined;
  readonly deciders: {
    readonly prefill?: string | undefined;
    readonly encode?: string | undefined;
  };
}

/**
 * Runs a profile for each stage that an endpoint of its own should serve. The pick of the decode
 * profile is the primary. A stage whose profile leaves no endpoint is served by the decoding
 * endpoint, unless it is prefill and that is required.
 *
 * With a fallback profile, a request whose decode profile or whose separate prefill finds no
 * endpoint is served whole by the pick of that profile.
 *
 * With `decode-first` the deciders see the decoding endpoint, and without one no other profile
 * runs. With `prefill-first` the prefill profile, if there is one, always runs, and decode is
 * picked near its pick. Throws ConfigError.
 */
export function createDisaggregation(
  config: DisaggregationConfig,
  parts: HandlerParts,
): ProfileHandler {
  const { decode, prefill } = config.profiles;
  // A decider that may keep a prompt at the decoder asks for no more than what is there.
  const mayKeep = parts.deciders.get(config.deciders.prefill ?? '')?.keeps !== undefined;
  const isRequired = config.prefillRequired === true && !mayKeep;
  const stages = byStages(config, parts);
  const handler = isRequired ? withPrefill(stages, prefill) : stages;
  const whole = parts.profiles.get(config.fallback ?? '');
  return whole === undefined ? handler : orWhole(handler, whole, [decode, prefill]);
}

function byStages(
  config: DisaggregationConfig,
  { profiles, deciders }: HandlerParts,
): ProfileHandler {
  const issues = disaggregationFaults(config, { profiles, deciders });
  const decode = profiles.get(config.profiles.decode);
  if (decode === undefined || issues.length > 0) throw new ConfigError(config.type, issues);
  const prefillFirst = config.stageOrder === 'prefill-first';
  const resultOf = stageResults(config);
  const separate = separateStages(config, { profiles, deciders });
  return {
    next(done, context) {
      const decoded = resultOf(done, 'decode');
      if (decoded === undefined) {
        return (prefillFirst ? separate('prefill', done, context) : undefined) ?? decode;
      }
      if (decoded.kind === 'exhausted') return undefined;
      return (
        separate('encode', done, context) ??
        (prefillFirst ? undefined : separate('prefill', done, context))
      );
    },
    peer: (done) => pickOf(resultOf(done, prefillFirst ? 'prefill' : 'decode')),
    conclude(done, context) {
      const primary = resultOf(done, 'decode');
      invariant(primary !== undefined, 'concluded before the decode profile ran');
      const decider = deciders.get(config.deciders.prefill ?? '');
      const prefill = keptPrefill(primary, resultOf(done, 'prefill'), { decider, context });
      const stages = { prefill, encoders: picksOf(resultOf(done, 'encode')) };
      return { primary, headers: stageHeaders(stages), ...stages, profiles: done };
    },
  };
}

/** Finds what came of a stage's profile; undefined where that has not run. */
function stageResults({
  profiles: names,
}: DisaggregationConfig): (
  done: readonly ProfileResult[],
  stage: Stage,
) => ProfileResult | undefined {
  return (done, stage) => done.find(({ profile }) => profile === names[stage]);
}

/** Gives a stage's profile where it shall run now; undefined where the decoder does its work. */
function separateStages(
  config: DisaggregationConfig,
  { profiles, deciders }: HandlerParts,
): (
  stage: 'prefill' | 'encode',
  done: readonly ProfileResult[],
  context: SchedulingContext,
) => SchedulingProfile | undefined {
  const resultOf = stageResults(config);
  return (stage, done, context) => {
    const profile = profiles.get(config.profiles[stage]);
    const decider = deciders.get(config.deciders[stage] ?? '');
    const decoder = pickOf(resultOf(done, 'decode'));
    if (profile === undefined || resultOf(done, stage) !== undefined) return undefined;
    if (stage === 'prefill' && config.stageOrder === 'prefill-first') return profile;
    // The decider compares with the decoding endpoint, so it cannot decide before that is known.
    if (decider === undefined || decoder === undefined) return undefined;
    return decider.separates(decoder, context) ? profile : undefined;
  };
}

/** Refuses a request whose profile for separate prefill has run and found no endpoint. */
function withPrefill(handler: ProfileHandler, prefill: string): ProfileHandler {
  return {
    next: (done, context) => handler.next(done, context),
    peer: (done) => handler.peer?.(done),
    conclude(done, context) {
      const failed = done.find(({ kind, profile }) => kind === 'exhausted' && profile === prefill);
      if (failed === undefined) return handler.conclude(done, context);
      return { primary: failed, headers: new Map(), profiles: done };
    },
  };
}

/**
 * Lets the profile `whole` serve a request for which one of the needed profiles finds no endpoint.
 */
function orWhole(
  handler: ProfileHandler,
  whole: SchedulingProfile,
  needed: readonly string[],
): ProfileHandler {
  const ofWhole = (done: readonly ProfileResult[]): ProfileResult | undefined =>
    done.find(({ profile }) => profile === whole.name);
  return {
    next(done, context) {
      if (ofWhole(done) !== undefined) return undefined;
      const failed = done.some(
        (each) => each.kind === 'exhausted' && needed.includes(each.profile),
      );
      return failed ? whole : handler.next(done, context);
    },
    peer: (done) => handler.peer?.(done),
    conclude(done, context) {
      const primary = ofWhole(done);
      if (primary === undefined) return handler.conclude(done, context);
      return { primary, headers: new Map(), prefill: undefined, encoders: [], profiles: done };
    },
  };
}

/** The prefill server that was picked, unless the decider leaves the prompt to the decoding one. */
function keptPrefill(
  decoded: ProfileResult,
  prefilled: ProfileResult | undefined,
  asked: { readonly decider: Decider | undefined; readonly context: SchedulingContext },
): Endpoint | undefined {
  const [decoder, prefiller] = [pickOf(decoded), pickOf(prefilled)];
  if (decoder === undefined || prefiller === undefined) return prefiller;
  const pickedFrom = { decode: scoredIn(decoded), other: scoredIn(prefilled) };
  const keeps = asked.decider?.keeps?.(decoder, prefiller, asked.context, pickedFrom);
  return keeps === false ? undefined : prefiller;
}

/** How many endpoints the pick was made from. */
function scoredIn(result: ProfileResult | undefined): number {
  return Math.max(1, result?.run?.kept.at(-1)?.length ?? 1);
}

function pickOf(result: ProfileResult | undefined): Endpoint | undefined {
  return picksOf(result)[0];
}

function picksOf(result: ProfileResult | undefined): readonly Endpoint[] {
  return result?.kind === 'picked' ? result.targets.map(({ endpoint }) => endpoint) : [];
}

/** Why the handler cannot run these profiles with these deciders. */
export function disaggregationFaults(
  { stageOrder, profiles: names, deciders: named, fallback }: Omit<DisaggregationConfig, 'type'>,
  { profiles, deciders }: HandlerNames,
): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  if (!profiles.has(names.decode)) {
    const message = `has no profile ${names.decode}, by which the decoding endpoint is picked: name one so, or give its name as profiles.decode of the handler`;
    issues.push({ path: 'schedulingProfiles', message });
  }
  for (const [stage, name] of Object.entries(named)) {
    if (name === undefined || deciders.has(name)) continue;
    issues.push({
      path: `deciders.${stage}`,
      message: `${name} is not the name of a decider in plugins`,
    });
  }
  if (fallback !== undefined && !profiles.has(fallback)) {
    const message = `${fallback} is not the name of a profile in schedulingProfiles`;
    issues.push({ path: 'profiles.fallback', message });
  }
  const [same] = Object.entries(names).find(([, name]) => name === fallback) ?? [];
  if (same !== undefined) {
    const message = `must not be the profile of ${same}, which found no endpoint before it is asked`;
    issues.push({ path: 'profiles.fallback', message });
  }
  if (fallback !== undefined && stageOrder === 'prefill-first') {
    const message = 'needs stageOrder decode-first';
    issues.push({ path: 'profiles.fallback', message });
  }
  if (stageOrder === 'prefill-first' && named.prefill !== undefined) {
    const message = 'cannot be with stageOrder prefill-first, where prefill is always separate';
    issues.push({ path: 'deciders.prefill', message });
  }
  return issues;
}
