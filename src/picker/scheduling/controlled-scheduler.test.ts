import { describe, expect, test } from 'vitest';
import { makeContext, makePool } from '../../../test/makers.ts';
import { RoutingError } from '../../framework/error.ts';
import type { RequestControl } from '../../framework/request-control.ts';
import type { Decision, ProfileResult, Scheduler } from '../../framework/scheduling.ts';
import { PluginFaults } from '../faults/plugin-faults.ts';
import { controlledScheduler } from './controlled-scheduler.ts';

const [a, b, c] = makePool([{}, {}, {}]);
if (a === undefined || b === undefined || c === undefined) throw new Error('three endpoints');

/** Decides for the first endpoint that it gets. */
const scheduler: Scheduler = {
  schedule([endpoint]): Decision {
    const targets = endpoint === undefined ? [] : [{ endpoint, score: 1 }];
    const primary: ProfileResult = { kind: 'picked', profile: 'default', targets };
    return { primary, profiles: [primary], headers: new Map([['x-own', '1']]) };
  },
};

function decide(...sources: readonly RequestControl[]): { decision: Decision; faults: string[] } {
  const faults = new PluginFaults();
  const controlled = controlledScheduler(scheduler, sources, faults);
  const decision = controlled.schedule([a, b, c] as never, makeContext());
  return { decision, faults: faults.counts().map(({ call, count }) => `${call} ${count}`) };
}

function addressOf({ primary }: Decision): string | undefined {
  return primary.kind === 'picked' ? primary.targets[0]?.endpoint.address : undefined;
}

describe('control of requests by data sources', () => {
  test('[D53] without such a source the scheduler stays as it is', () => {
    expect(controlledScheduler(scheduler, [{}], new PluginFaults())).toBe(scheduler);
  });

  test('[D53] every screener sees all candidates, and what all of them keep is left', () => {
    const seen: number[] = [];
    const keeping = (...kept: readonly unknown[]): RequestControl => ({
      screen(endpoints) {
        seen.push(endpoints.length);
        return endpoints.filter((endpoint) => kept.includes(endpoint));
      },
    });
    const { decision } = decide(keeping(a, b), keeping(b, c));
    expect(addressOf(decision)).toBe(b.address);
    expect(seen).toEqual([3, 3]);
  });

  test('[D53] a decision where screening leaves none says so', () => {
    const { decision } = decide({ screen: () => [] });
    expect(decision.primary).toMatchObject({ kind: 'exhausted', candidates: 3, screened: true });
  });

  test('[D53] an admitter refuses with a RoutingError, and sees the screened endpoints', () => {
    const admit: RequestControl['admit'] = (endpoints) => {
      throw new RoutingError('saturated', `${endpoints.length} left`);
    };
    expect(() => decide({ screen: ([first]) => (first ? [first] : []) }, { admit })).toThrow(
      '1 left',
    );
  });

  test('[D53] headers of sources are added, and never replace the decision’s own', () => {
    const { decision } = decide({
      requestHeaders: () => [
        ['x-own', '2'],
        ['x-other', '3'],
      ],
    });
    expect(Object.fromEntries(decision.headers)).toEqual({ 'x-own': '1', 'x-other': '3' });
  });

  test('[D53] a source that fails is left out and counted', () => {
    const fail = (): never => {
      throw new Error('broken');
    };
    const { decision, faults } = decide(
      { screen: fail },
      { screen: () => [makePool([{}])[0] as never] },
      { admit: fail },
      { requestHeaders: fail },
    );
    expect(addressOf(decision)).toBe(a.address);
    expect(faults).toEqual(['screen 2', 'admit 1', 'requestHeaders 1']);
  });
});
