import { describe, expect, test } from 'vitest';
import { createLog, type LevelledLog } from '../../runtime/log/log.ts';
import { HttpError } from './admin-routes.ts';
import { withLogLevel } from './log-level.ts';

const act = (log: LevelledLog, query: string): unknown =>
  withLogLevel(log).get('/log-level')?.(new URLSearchParams(query));

describe('the level of the log', () => {
  test('[O91] is changed while the picker runs', () => {
    const log = createLog('silent');
    expect(act(log, 'level=error')).toEqual({ level: 'error', before: 'silent' });
    expect(log.level).toBe('error');
  });

  test.each(['', 'level=loud'])('[O91] is not changed by "%s", which gets 400', (query) => {
    const log = createLog('silent');
    expect(() => act(log, query)).toThrow(HttpError);
    expect(log.level).toBe('silent');
  });

  test('[O91] has no action where the log has no level', () => {
    const ignore = (): void => undefined;
    const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
    expect([...withLogLevel(log).keys()]).toEqual([]);
  });
});
