import { type LevelledLog, LOG_LEVELS, type Log } from '../../runtime/log/log.ts';
import { type AdminRoute, HttpError } from './admin-routes.ts';

/**
 * The actions of the admin port with `/log-level?level=debug`, which changes what is logged from
 * now on. The same actions where the level of the log cannot be changed.
 */
export function withLogLevel(
  log: Log | LevelledLog,
  actions: ReadonlyMap<string, AdminRoute> = new Map<string, AdminRoute>(),
): ReadonlyMap<string, AdminRoute> {
  if (!('level' in log)) return actions;
  return new Map([...actions, ['/log-level', logLevelAction(log)]]);
}

function logLevelAction(log: LevelledLog): AdminRoute {
  return (query) => {
    const level = query.get('level');
    if (level === null || !LOG_LEVELS.includes(level)) {
      const given = level === null ? 'level is missing' : `level is ${level}`;
      throw new HttpError(400, `${given}: it must be one of ${LOG_LEVELS.join(', ')}`);
    }
    const before = log.level;
    log.level = level;
    return { level, before };
  };
}
