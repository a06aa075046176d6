import { type ClockAhead, checkClocks } from './check-clocks.ts';
import { checkClusters, pickerNames } from './check-clusters.ts';
import { checkEnvoyState, type EnvoyState } from './check-envoy-state.ts';
import { checkFailover } from './check-failover.ts';
import { checkFilter } from './check-filter.ts';
import { checkPicker, type PickerState } from './check-picker.ts';
import { checkRoute } from './check-route.ts';
import { readSetup } from './envoy-setup.ts';
import type { Finding } from './finding.ts';

/** Everything that the doctor looks at, as far as it was given. */
export interface Seen {
  /** Envoy's `/config_dump` and its state. */
  readonly envoy?: EnvoyState & { readonly configDump: unknown };
  readonly picker?: PickerState;
  readonly clocks: readonly ClockAhead[];
  /** How long the picker's configuration lets a request wait; undefined where it is not known. */
  readonly longestWaitMs?: number | undefined;
}

/** All findings; each once, however many routes share it. */
export function diagnose({ envoy, picker, clocks, longestWaitMs }: Seen): readonly Finding[] {
  return [
    ...(envoy === undefined ? [] : checkEnvoy(envoy, longestWaitMs)),
    ...(picker === undefined ? [] : checkPicker(picker)),
    ...checkClocks(clocks),
  ];
}

function checkEnvoy(
  { configDump, ...state }: NonNullable<Seen['envoy']>,
  longestWaitMs: number | undefined,
): readonly Finding[] {
  const setup = readSetup(configDump);
  const pickers = [...pickerNames(setup.routes)].filter((name) => setup.clusters.has(name));
  if (setup.routes.length === 0) {
    return [
      {
        severity: 'error',
        id: 'no-ext-proc',
        where: `${setup.listeners} HTTP listeners of Envoy`,
        what: 'no route passes an ext_proc filter: Envoy asks no picker.',
        mend: 'Add the filter of deploy/envoy.yaml before the router, or ask the Envoy that the model requests pass.',
      },
    ];
  }
  const findings = [
    ...setup.routes.flatMap((picked) => [
      ...checkFilter(picked, longestWaitMs),
      ...checkRoute(picked, setup),
    ]),
    ...checkClusters(setup),
    ...checkFailover(setup, state.info.version?.split('/')[1]),
    ...checkEnvoyState(state, pickers),
  ];
  const passes = setup.routes.some(
    ({ filter }) => filter.failure_mode_allow === true && filter.observability_mode !== true,
  );
  // What passes an observer that is not there is no fault, and Envoy counts it like others.
  return firstOfEach(findings.filter(({ id }) => passes || id !== 'passed-without-pick'));
}

/** A gateway may have many routes with one fault, which are counted: a few show which they are. */
const PLACES_SHOWN = 3;

function firstOfEach(findings: readonly Finding[]): readonly Finding[] {
  const groups = Map.groupBy(findings, ({ id, what }) => `${id}\n${what}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const places = [...new Set(group.map(({ where }) => where))];
    const more = places.length - PLACES_SHOWN;
    const shown = places.slice(0, PLACES_SHOWN).join('; ');
    return [{ ...first, where: more > 0 ? `${shown} and ${more} more` : shown }];
  });
}
