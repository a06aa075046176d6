import type { Endpoint } from '../../framework/endpoint.ts';
import type { RequestControl } from '../../framework/request-control.ts';
import type { Decision, Scheduler, SchedulingContext } from '../../framework/scheduling.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import { faultOfFiltered, faultOfHeaders } from './checked-results.ts';

/** The name that stands in place of a profile where screening leaves no endpoint. */
const SCREENING = 'screening';

/**
 * Screens the candidates and admits the request before `scheduler` decides, and adds headers after
 * it. Returns the scheduler itself where no source controls requests. A source that fails is left
 * out and reported; only its RoutingError refuses the request.
 */
export function controlledScheduler(
  scheduler: Scheduler,
  sources: readonly RequestControl[],
  faults: PluginFaults,
): Scheduler {
  const screeners = sources.filter((source) => source.screen !== undefined);
  const admitters = sources.filter((source) => source.admit !== undefined);
  const headerSources = sources.filter((source) => source.requestHeaders !== undefined);
  if (screeners.length + admitters.length + headerSources.length === 0) return scheduler;
  return {
    schedule(endpoints, context) {
      const left = screened(screeners, endpoints, context, faults);
      if (left.length === 0) return noneLeft(endpoints);
      for (const source of admitters) {
        try {
          source.admit?.(left, context);
        } catch (error) {
          faults.reportOrRefuse(source, 'admit', error);
        }
      }
      const decision = scheduler.schedule(left, context);
      return withHeaders(decision, headerSources, { endpoints: left, context, faults });
    },
  };
}

function screened(
  screeners: readonly RequestControl[],
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
  faults: PluginFaults,
): readonly Endpoint[] {
  let left = endpoints;
  for (const source of screeners) {
    try {
      const kept = source.screen?.(endpoints, context) ?? endpoints;
      const fault = faultOfFiltered(kept, endpoints);
      if (fault !== undefined) faults.report(source, 'screen', new Error(fault));
      else if (left === endpoints) left = kept;
      else {
        const both = new Set(kept);
        left = left.filter((endpoint) => both.has(endpoint));
      }
    } catch (error) {
      faults.reportOrRefuse(source, 'screen', error);
    }
  }
  return left;
}

function noneLeft(endpoints: readonly Endpoint[]): Decision {
  const primary = {
    kind: 'exhausted',
    profile: SCREENING,
    candidates: endpoints.length,
    screened: true,
  } as const;
  return { primary, profiles: [primary], headers: new Map() };
}

function withHeaders(
  decision: Decision,
  sources: readonly RequestControl[],
  {
    endpoints,
    context,
    faults,
  }: {
    readonly endpoints: readonly Endpoint[];
    readonly context: SchedulingContext;
    readonly faults: PluginFaults;
  },
): Decision {
  if (sources.length === 0 || decision.primary.kind !== 'picked') return decision;
  const added = new Map<string, string>();
  for (const source of sources) {
    try {
      const given = [...(source.requestHeaders?.(decision, endpoints, context) ?? [])];
      const fault = faultOfHeaders(given);
      if (fault !== undefined) faults.report(source, 'requestHeaders', new Error(fault));
      else for (const [name, value] of given) added.set(name, value);
    } catch (error) {
      faults.reportOrRefuse(source, 'requestHeaders', error);
    }
  }
  if (added.size === 0) return decision;
  return { ...decision, headers: new Map([...added, ...decision.headers]) };
}
