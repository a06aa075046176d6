import { checkCertificates, type Validity } from './check-certificates.ts';
import { type ClockAhead, checkClocks } from './check-clocks.ts';
import { checkClusters, pickerNames } from './check-clusters.ts';
import { checkEnvoyState, type EnvoyState, envoyCertificates } from './check-envoy-state.ts';
import { checkFailover } from './check-failover.ts';
import { type AskedPicker, checkFilter } from './check-filter.ts';
import { checkPicker, type PickerState } from './check-picker.ts';
import { checkPickerReached } from './check-picker-reached.ts';
import { checkRoute } from './check-route.ts';
import { FILTER_LINES } from './cluster-lines.ts';
import type { EnvoySetup } from './envoy-setup.ts';
import type { Finding } from './finding.ts';

/** What Envoy's `/config_dump` says, and its state. */
export interface EnvoySeen extends EnvoyState {
  /** The address that was asked. */
  readonly at: string;
  readonly setup: EnvoySetup;
}

export interface PickerSeen extends PickerState {
  readonly at: string;
}

/** Everything that the doctor looks at, as far as it was given. */
export interface Seen extends AskedPicker {
  readonly envoys?: readonly EnvoySeen[];
  readonly pickers?: readonly PickerSeen[];
  readonly clocks: readonly ClockAhead[];
  /** The certificates of files, and of the picker. */
  readonly certificates?: readonly Validity[];
  /** In Unix time. */
  readonly nowMs: number;
}

/** All findings; each once, however many routes share it. */
export function diagnose(seen: Seen): readonly Finding[] {
  const { envoys = [], pickers = [], clocks, certificates = [], nowMs } = seen;
  const ofEnvoys = envoys.flatMap((each) => envoyCertificates(each.certs));
  return [
    ...ofEach('Envoy', envoys, (each) => checkEnvoy(each, seen)),
    ...ofEach('picker', pickers, checkPicker),
    ...checkClocks(clocks),
    ...firstOfEach(checkCertificates([...ofEnvoys, ...certificates], nowMs)),
  ];
}

/** The findings of several, which say where each was found; those that they share, once. */
function ofEach<T extends { readonly at: string }>(
  kind: string,
  places: readonly T[],
  check: (place: T) => readonly Finding[],
): readonly Finding[] {
  const nameOf = ({ at }: T): string => (places.length === 1 ? '' : `${kind} ${at}: `);
  const findings = places.flatMap((place) =>
    check(place).map((each) => ({ ...each, where: `${nameOf(place)}${each.where}` })),
  );
  return firstOfEach(findings);
}

function checkEnvoy({ setup, ...state }: EnvoySeen, asked: AskedPicker): readonly Finding[] {
  const refused = refusedFindings(setup);
  const pickers = [...pickerNames(setup.routes)].filter((name) => setup.clusters.has(name));
  if (setup.routes.length === 0) {
    return [
      ...refused,
      {
        severity: 'error',
        id: 'no-ext-proc',
        where: `${setup.listeners} HTTP listeners of Envoy`,
        what: 'no route passes an ext_proc filter that sends requests: Envoy asks no picker.',
        mend: 'Ask the Envoy that the model requests pass, or add this before the router:',
        lines: FILTER_LINES,
      },
    ];
  }
  const findings = [
    ...refused,
    ...setup.routes.flatMap((picked) => [
      ...checkFilter(picked, asked),
      ...checkRoute(picked, setup),
    ]),
    ...checkClusters(setup),
    ...checkFailover(setup, state.info.version?.split('/')[1]),
    ...checkPickerReached(
      state,
      pickers.flatMap((name) => setup.clusters.get(name) ?? []),
    ),
    ...checkEnvoyState(state, pickers),
  ];
  const passes = setup.routes.some(
    ({ filter }) => filter.failure_mode_allow === true && filter.observability_mode !== true,
  );
  // A request that passes without an observer is no fault, but Envoy counts it as one without a
  // pick.
  return firstOfEach(findings.filter(({ id }) => passes || id !== 'passed-without-pick'));
}

/** Envoy goes on with what it had before, which the other findings are about. */
function refusedFindings({ refused }: EnvoySetup): readonly Finding[] {
  return refused.map(({ name, details }) => ({
    severity: 'error',
    id: 'update-refused',
    where: `listener ${name}`,
    what: `Envoy has refused its last update, so that a change has no effect: ${details}.`,
    mend: 'Correct what the control plane sends: an object of yours that it made this from, or its patch.',
  }));
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
