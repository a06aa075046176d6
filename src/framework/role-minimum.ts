/** How a role fares whose endpoints must not be fewer than so many. */
export interface RoleMinimum {
  readonly role: string;
  readonly minReady: number;
  /** Endpoints of the pool that do this part of requests, whether alone or among others. */
  readonly ready: number;
}

/** A plugin that holds roles to a minimum; told to metrics and the log. */
export interface HoldsMinimums {
  roleMinimums(): readonly RoleMinimum[];
}

export function holdsMinimums(plugin: object): plugin is HoldsMinimums {
  return 'roleMinimums' in plugin && typeof plugin.roleMinimums === 'function';
}
