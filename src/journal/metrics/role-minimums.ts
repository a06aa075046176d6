import { Gauge, type Registry } from 'prom-client';
import type { EndpointObserver } from '../../framework/observer.ts';
import type { Observer } from '../../framework/plugin.ts';
import { holdsMinimums, type RoleMinimum } from '../../framework/role-minimum.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Log } from '../../runtime/log.ts';

export interface RoleMinimumsOptions {
  /** A picker's, asked for each time: they may be others after a while. */
  readonly observers: () => readonly Observer[];
  readonly clock: Clock;
}

/** A list of pods comes as one change for each of them: told is what it comes to. */
const SETTLED_MS = 100;

/** Puts the roles that are held to a minimum on the page. Nothing where there are none. */
export function registerRoleMinimums(
  registry: Registry,
  { observers }: Pick<RoleMinimumsOptions, 'observers'>,
): void {
  const gauge = (name: string, help: string, read: (minimum: RoleMinimum) => number): void => {
    const metric: Gauge<'role'> = new Gauge({
      name: `pointsman_role_${name}`,
      help,
      labelNames: ['role'],
      registers: [registry],
      collect: () => {
        metric.reset();
        for (const each of minimumsOf(observers())) metric.set({ role: each.role }, read(each));
      },
    });
  };
  gauge('ready_endpoints', 'Endpoints that do this part of requests.', ({ ready }) => ready);
  gauge('min_ready', 'Fewer than so many are too few.', ({ minReady }) => minReady);
  gauge('below_minimum', '1 while there are too few.', (each) => (isBelow(each) ? 1 : 0));
}

/** Tells the log once when a role falls below its minimum, and once when it is back. */
export function tellRoleMinimums(
  { observers, clock }: RoleMinimumsOptions,
  log: Pick<Log, 'info' | 'warn'>,
): EndpointObserver {
  const told = new Set<string>();
  let waiting = false;
  const tell = (): void => {
    waiting = false;
    for (const each of minimumsOf(observers())) {
      if (isBelow(each) === told.has(each.role)) continue;
      if (isBelow(each)) {
        told.add(each.role);
        log.warn({ ...each }, `too few endpoints ${each.role}: ${EFFECT}`);
      } else {
        told.delete(each.role);
        log.info({ ...each }, `enough endpoints ${each.role} again`);
      }
    }
  };
  const changed = (): void => {
    if (waiting) return;
    waiting = true;
    clock.setTimer(SETTLED_MS, tell);
  };
  return {
    onEndpointAdded: changed,
    onEndpointRemoved: changed,
    onEndpointChanged: (endpoint, previous) => {
      if (endpoint.labels !== previous.labels) changed();
    },
  };
}

const EFFECT = 'profiles with its role-minimum-filter pick nobody until there are more';

/** One for each role: the strictest, where several plugins have a minimum for it. */
function minimumsOf(observers: readonly Observer[]): Iterable<RoleMinimum> {
  const strictest = new Map<string, RoleMinimum>();
  const all = observers.flatMap((each) => (holdsMinimums(each) ? each.roleMinimums() : []));
  for (const each of all) {
    const other = strictest.get(each.role);
    if (other === undefined || other.minReady < each.minReady) strictest.set(each.role, each);
  }
  return strictest.values();
}

function isBelow({ ready, minReady }: RoleMinimum): boolean {
  return ready < minReady;
}
