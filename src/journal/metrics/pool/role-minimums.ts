import type { Registry } from 'prom-client';
import type { EndpointObserver, Observer } from '../../../framework/observer.ts';
import { holdsMinimums, type RoleMinimum } from '../../../framework/roles.ts';
import type { Clock } from '../../../framework/runtime.ts';
import type { Log } from '../../../runtime/log/log.ts';
import { showMetric } from '../page/family.ts';

interface RoleMinimumsOptions {
  /** The picker's observers now: another configuration has others. */
  readonly observers: () => readonly Observer[];
  readonly clock: Clock;
}

/** A list of pods comes as one change for each pod: only the state after all of them is logged. */
const SETTLED_MS = 100;

/** Shows the roles that have a minimum on the page, if there are any. */
export function registerRoleMinimums(
  registry: Registry,
  { observers }: Pick<RoleMinimumsOptions, 'observers'>,
): void {
  const gauge = (name: string, help: string, read: (minimum: RoleMinimum) => number): void =>
    showMetric(registry, { name: `pointsman_role_${name}`, help, type: 'gauge' }, () =>
      minimumsOf(observers()).map((each) => ({ labels: { role: each.role }, value: read(each) })),
    );
  gauge('ready_endpoints', 'Endpoints with this role.', ({ ready }) => ready);
  gauge(
    'min_ready',
    'The least number of endpoints that this role needs.',
    ({ minReady }) => minReady,
  );
  gauge('below_minimum', '1 while there are fewer, else 0.', (each) => (isBelow(each) ? 1 : 0));
}

/** Logs once when a role falls below its minimum, and once when it has reached it again. */
export function logRoleMinimums(
  { observers, clock }: RoleMinimumsOptions,
  log: Pick<Log, 'info' | 'warn'>,
): EndpointObserver {
  const below = new Set<string>();
  let waiting = false;
  const logChanges = (): void => {
    waiting = false;
    for (const each of minimumsOf(observers())) {
      if (isBelow(each) === below.has(each.role)) continue;
      if (isBelow(each)) {
        below.add(each.role);
        log.warn({ ...each }, `too few endpoints with role ${each.role}: ${EFFECT}`);
      } else {
        below.delete(each.role);
        log.info({ ...each }, `enough endpoints with role ${each.role} again`);
      }
    }
  };
  const changed = (): void => {
    if (waiting) return;
    waiting = true;
    clock.setTimer(SETTLED_MS, logChanges);
  };
  return {
    onEndpointAdded: changed,
    onEndpointRemoved: changed,
    onEndpointChanged: (endpoint, previous) => {
      if (endpoint.labels !== previous.labels) changed();
    },
  };
}

const EFFECT = 'profiles with its role-minimum-filter pick none until there are more';

/** One minimum for each role: the largest, where several plugins have one. */
function minimumsOf(observers: readonly Observer[]): readonly RoleMinimum[] {
  const largest = new Map<string, RoleMinimum>();
  const all = observers.flatMap((each) => (holdsMinimums(each) ? each.roleMinimums() : []));
  for (const each of all) {
    const other = largest.get(each.role);
    if (other === undefined || other.minReady < each.minReady) largest.set(each.role, each);
  }
  return [...largest.values()];
}

function isBelow({ ready, minReady }: RoleMinimum): boolean {
  return ready < minReady;
}
