import { describe, expect, it } from 'vitest';
import { makeContext, makeEndpoint, makeRuntime } from '../../../test/makers.ts';
import { ConfigError } from '../../framework/error.ts';
import type { ProfileHandlerDefinition } from '../../framework/plugin.ts';
import type {
  Decider,
  Decision,
  ProfileResult,
  SchedulingProfile,
} from '../../framework/scheduling.ts';
import { createScheduler } from '../../picker/scheduling/schedule.ts';
import { dataParallel } from './data-parallel.ts';
import { disaggregationProfiles } from './disaggregation-profiles.ts';
import { pdProfiles } from './pd-profiles.ts';

const decode = makeEndpoint('decoder', { slot: 0 });
const prefill = makeEndpoint('prefiller', { slot: 1 });
const encode = makeEndpoint('encoder', { slot: 2 });
const whole = makeEndpoint('whole', { slot: 3 });
const pool = [decode, prefill, encode, whole];

interface World {
  readonly ran: string[];
  /** Profiles that find no endpoint. */
  readonly empty?: readonly string[];
  readonly deciders?: Readonly<Record<string, boolean>>;
  readonly profiles?: readonly string[];
}

/**
 * Profiles that pick the endpoint of their stage, and note that they ran and whom they were shown
 * as peer.
 */
function profileOf(name: string, { ran, empty = [] }: World): SchedulingProfile {
  return {
    name,
    filters: [
      {
        name: 'role',
        filter: {
          filter: (endpoints, { peer }) => {
            ran.push(peer === undefined ? name : `${name} by ${peer.id}`);
            if (empty.includes(name)) return [];
            return endpoints.filter(({ id }) => id.startsWith(name));
          },
        },
      },
    ],
    scorers: [],
    picker: { pick: (all) => all },
  };
}

function schedule(
  definition: ProfileHandlerDefinition,
  parameters: object,
  world: World,
): Decision {
  const { profiles = ['decode', 'prefill', 'encode'], deciders = {} } = world;
  const made = Object.entries(deciders).map(([name, answer]): readonly [string, Decider] => [
    name,
    { separates: () => answer },
  ]);
  const handler = definition.create(
    definition.config.parse(parameters),
    {
      profiles: new Map(profiles.map((name) => [name, profileOf(name, world)])),
      deciders: new Map(made),
    },
    makeRuntime(),
  );
  return createScheduler(handler).schedule(pool, makeContext());
}

const both = { deciders: { prefill: 'p', encode: 'e' } };
const headersOf = ({ headers }: Decision) => Object.fromEntries(headers);
const primaryOf = ({ primary }: Decision) =>
  primary.kind === 'picked' ? primary.targets[0]?.endpoint.id : primary.kind;

describe('disagg-profile-handler', () => {
  it('picks decode first, then by its deciders where to encode and prefill, near the decoder', () => {
    const ran: string[] = [];
    const result = schedule(disaggregationProfiles, both, { ran, deciders: { p: true, e: true } });
    expect(ran).toEqual(['decode', 'encode by decoder', 'prefill by decoder']);
    expect(primaryOf(result)).toBe('decoder');
    expect(result.prefill?.id).toBe('prefiller');
    expect(headersOf(result)).toEqual({
      'x-prefiller-host-port': 'prefiller:8000',
      'x-encoder-hosts-ports': 'encoder:8000',
    });
  });

  it('serves by decode alone where the deciders say no, or there are none', () => {
    for (const [parameters, deciders] of [
      [both, { p: false, e: false }],
      [{}, {}],
    ] as const) {
      const ran: string[] = [];
      const result = schedule(disaggregationProfiles, parameters, { ran, deciders });
      expect(ran).toEqual(['decode']);
      expect(result.prefill).toBeUndefined();
      expect(headersOf(result)).toEqual({});
    }
  });

  it('stops where no endpoint can decode', () => {
    const ran: string[] = [];
    const world = { ran, empty: ['decode'], deciders: { p: true, e: true } };
    expect(primaryOf(schedule(disaggregationProfiles, both, world))).toBe('exhausted');
    expect(ran).toEqual(['decode']);
  });

  it('serves by decode alone where no endpoint can prefill', () => {
    const world = { ran: [], empty: ['prefill', 'encode'], deciders: { p: true, e: true } };
    const result = schedule(disaggregationProfiles, both, world);
    expect(primaryOf(result)).toBe('decoder');
    expect([result.prefill, headersOf(result)]).toEqual([undefined, {}]);
  });

  it.each(['decode-first', 'prefill-first'])(
    '[D364] refuses a prompt that no endpoint can prefill where that is required, %s',
    (stageOrder) => {
      const deciders = stageOrder === 'decode-first' ? { prefill: 'p' } : {};
      const parameters = { stageOrder, deciders, prefillRequired: true };
      const world = { ran: [], empty: ['prefill'], deciders: { p: true } };
      const { primary } = schedule(disaggregationProfiles, parameters, world);
      expect(primary).toMatchObject({ kind: 'exhausted', profile: 'prefill' });
      const other = { ran: [], empty: ['prefill'], deciders: { p: false } };
      const undecided = { deciders: { prefill: 'p' }, prefillRequired: true };
      expect(primaryOf(schedule(disaggregationProfiles, undecided, other))).toBe('decoder');
    },
  );

  it.each([
    ['no endpoint can decode', ['decode'], ['decode', 'whole']],
    ['no endpoint can prefill', ['prefill'], ['decode', 'prefill by decoder', 'whole by decoder']],
  ])('[D322] serves a request whole by the fallback profile where %s', (_why, empty, wanted) => {
    const ran: string[] = [];
    const parameters = { profiles: { fallback: 'whole' }, deciders: { prefill: 'p' } };
    const profiles = ['decode', 'prefill', 'whole'];
    const world = { ran, empty, deciders: { p: true }, profiles };
    const result = schedule(disaggregationProfiles, parameters, world);
    expect(ran).toEqual(wanted);
    expect([primaryOf(result), result.prefill, headersOf(result)]).toEqual([
      'whole',
      undefined,
      {},
    ]);
  });

  it('[D322] leaves the fallback profile alone while every stage finds its endpoint', () => {
    const parameters = { profiles: { fallback: 'whole' }, deciders: { prefill: 'p' } };
    const profiles = ['decode', 'prefill', 'whole'];
    for (const p of [true, false]) {
      const ran: string[] = [];
      const world = { ran, deciders: { p }, profiles };
      expect(primaryOf(schedule(disaggregationProfiles, parameters, world))).toBe('decoder');
      expect(ran).not.toContain('whole');
    }
  });

  it('[D322] refuses a request where not even the fallback profile finds an endpoint', () => {
    const parameters = { profiles: { fallback: 'whole' } };
    const ran: string[] = [];
    const world = { ran, empty: ['decode', 'whole'], profiles: ['decode', 'whole'] };
    expect(primaryOf(schedule(disaggregationProfiles, parameters, world))).toBe('exhausted');
    expect(ran).toEqual(['decode', 'whole']);
  });

  it('prefill first: always prefills elsewhere, and picks decode near it', () => {
    const ran: string[] = [];
    const result = schedule(disaggregationProfiles, { stageOrder: 'prefill-first' }, { ran });
    expect(ran).toEqual(['prefill', 'decode by prefiller']);
    expect(primaryOf(result)).toBe('decoder');
    expect(headersOf(result)).toEqual({ 'x-prefiller-host-port': 'prefiller:8000' });
  });

  it('prefill first: decodes also where no endpoint can prefill', () => {
    const ran: string[] = [];
    const world = { ran, empty: ['prefill'] };
    const result = schedule(disaggregationProfiles, { stageOrder: 'prefill-first' }, world);
    expect(ran).toEqual(['prefill', 'decode']);
    expect([primaryOf(result), result.prefill]).toEqual(['decoder', undefined]);
  });

  it.each([
    [
      'no profile to decode with',
      {},
      { profiles: ['prefill'] },
      'schedulingProfiles: has no profile decode, by which the decoding endpoint is picked: name one so, or give its name as profiles.decode of the handler',
    ],
    [
      'a decider that is not there',
      { deciders: { prefill: 'x' } },
      {},
      'deciders.prefill: x is not the name of a decider in plugins',
    ],
    [
      'a fallback profile that has failed before',
      { profiles: { fallback: 'decode' } },
      {},
      'profiles.fallback: must not be the profile of decode, which found no endpoint before',
    ],
    [
      'a fallback profile that is not there',
      { profiles: { fallback: 'x' } },
      {},
      'profiles.fallback: x is not the name of a profile in schedulingProfiles',
    ],
    [
      'a fallback profile where prefill comes first',
      { stageOrder: 'prefill-first', profiles: { fallback: 'whole' } },
      { profiles: ['decode', 'prefill', 'encode', 'whole'] },
      'profiles.fallback: needs stageOrder decode-first',
    ],
    [
      'a prefill decider where prefill comes first',
      { stageOrder: 'prefill-first', deciders: { prefill: 'p' } },
      { deciders: { p: true } },
      'deciders.prefill: cannot be with stageOrder prefill-first',
    ],
  ])('refuses %s', (_what, parameters, world, said) => {
    const refused = (): unknown =>
      schedule(disaggregationProfiles, parameters, { ran: [], ...world });
    expect(refused).toThrow(ConfigError);
    expect(refused).toThrow(said);
  });
});

describe('pd-profile-handler', () => {
  it('is the same with the names of old, and can go through a port of the server', () => {
    const parameters = { deciderPluginName: 'p', primaryPort: 9000 };
    const world = { ran: [], deciders: { p: true }, profiles: ['decode', 'prefill'] };
    const result = schedule(pdProfiles, parameters, world);
    expect(result.destinations).toEqual(['decoder:9000']);
    expect(headersOf(result)).toEqual({
      'x-prefiller-host-port': 'prefiller:8000',
      'x-data-parallel-host-port': 'decoder:8000',
    });
  });
});

describe('data-parallel-profile-handler', () => {
  it('sends to the front end’s port and names the rank in a header', () => {
    const result = schedule(dataParallel, {}, { ran: [], profiles: ['decode'] });
    expect(result.destinations).toEqual(['decoder:8000']);
    expect(headersOf(result)).toEqual({ 'x-data-parallel-host-port': 'decoder:8000' });
  });

  it('says nothing where no endpoint was picked', () => {
    const world = { ran: [], profiles: ['decode'], empty: ['decode'] };
    const result: Decision = schedule(dataParallel, {}, world);
    const [primary]: readonly ProfileResult[] = result.profiles;
    expect(primary?.kind).toBe('exhausted');
    expect([result.destinations, headersOf(result)]).toEqual([undefined, {}]);
  });
});
