import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { watchFile } from '../../../files/watch-file.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { ConfigError } from '../../../framework/error.ts';
import type { EndpointPool } from '../../../picker/endpoint-pool.ts';
import type { Log } from '../../../runtime/log.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { FILE_BYTES_MAX, parseEndpoints } from './parse-endpoints.ts';

interface FileDiscoveryOptions {
  readonly path: string;
  /** Reload when the file changes or another file takes its name. */
  readonly watchFile: boolean;
  readonly pool: Pick<EndpointPool, 'upsert' | 'remove'>;
  /** Gets the file's objectives and rewrites. */
  readonly rules?: Pick<RequestRules, 'setObjectives' | 'setRewrites'> | undefined;
  readonly log: Pick<Log, 'info' | 'error'>;
}

export interface Discovery {
  /** Resolves when later changes will be seen. The pool is filled before that. */
  readonly ready: Promise<void>;
  /** Why the present file cannot be used; undefined where it is used. */
  lastError(): string | undefined;
  stop(): Promise<void>;
}

/**
 * Keeps the pool's endpoints equal to those of a file. Endpoints from other sources stay. Throws
 * ConfigError when the file is missing or invalid at the start. When it becomes invalid later, that
 * is logged and the endpoints stay as they were.
 */
export function startFileDiscovery(options: FileDiscoveryOptions): Discovery {
  const { path, watchFile: followed, pool, rules, log } = options;
  const file = resolve(path);
  let applied: ReadonlySet<EndpointId> = new Set();
  let lastText: string | undefined;
  let lastError: string | undefined;

  function load(): void {
    const text = readText(file, path);
    if (text !== lastText) {
      const { endpoints: specs, priorities, rewrites } = parseEndpoints(text, path);
      lastText = text;
      const wanted = new Set(specs.map(({ id }) => id));
      for (const id of applied) if (!wanted.has(id)) pool.remove(id);
      for (const spec of specs) pool.upsert(spec);
      rules?.setObjectives(priorities);
      rules?.setRewrites(rewrites);
      applied = wanted;
      log.info({ path, endpoints: specs.length }, 'endpoints loaded');
    } else if (lastError !== undefined) {
      log.info(
        { path, endpoints: applied.size },
        'the endpoints file is valid again and unchanged',
      );
    }
    lastError = undefined;
  }

  function reload(): void {
    try {
      load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // One change causes several events.
      if (error.message === lastError) return;
      lastError = error.message;
      log.error(
        { path, error: lastError, endpoints: applied.size },
        'the endpoints file is invalid; the last valid list stays',
      );
    }
  }

  load();
  const watch = followed
    ? watchFile(file, {
        onChange: reload,
        onError: (error) =>
          log.error(
            { path: file, err: error },
            'the endpoints file cannot be watched; changes are not seen',
          ),
      })
    : undefined;
  return {
    ready: watch?.ready ?? Promise.resolve(),
    lastError: () => lastError,
    stop: () => watch?.stop() ?? Promise.resolve(),
  };
}

function readText(file: string, path: string): string {
  try {
    const status = statSync(file);
    if (!status.isFile()) throw new Error('is not a file; give the path of a YAML or JSON file');
    if (status.size > FILE_BYTES_MAX) {
      throw new Error(`has ${status.size} bytes; at most ${FILE_BYTES_MAX} are read`);
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ConfigError(path, [{ path: 'file', message }]);
  }
}
