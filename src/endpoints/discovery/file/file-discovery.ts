import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { watchFile } from '../../../files/watch-file.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { ConfigError } from '../../../framework/error.ts';
import type { EndpointPool } from '../../../picker/endpoint-pool.ts';
import type { Log } from '../../../runtime/log-sink.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { FILE_BYTES_MAX, parseEndpoints } from './parse-endpoints.ts';

export interface FileDiscoveryOptions {
  readonly path: string;
  /** Follow changes, also when the file is replaced by another. */
  readonly watchFile: boolean;
  readonly pool: Pick<EndpointPool, 'upsert' | 'remove'>;
  /** Is told what the file says of requests. */
  readonly rules?: Pick<RequestRules, 'setObjectives' | 'setRewrites'> | undefined;
  readonly log: Log;
}

export interface Discovery {
  /** Resolves when changes are heard of from then on. The pool is filled before that. */
  readonly ready: Promise<void>;
  /** Why the file as it is now could not be used; undefined while all is well. */
  lastError(): string | undefined;
  stop(): Promise<void>;
}

/**
 * Keeps the pool as a file lists it; endpoints others added stay. Throws ConfigError when the file is missing or broken
 * at the start; a file that breaks later leaves the endpoints as they were and says so.
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
      log.info({ path, endpoints: applied.size }, 'endpoints file is as last loaded again');
    }
    lastError = undefined;
  }

  function reload(): void {
    try {
      load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // One change makes several events.
      if (error.message === lastError) return;
      lastError = error.message;
      log.error(
        { path, error: lastError, endpoints: applied.size },
        'endpoints file not usable, the last good list stays',
      );
    }
  }

  load();
  const watch = followed
    ? watchFile(file, {
        onChange: reload,
        onError: (error) => log.error({ path: file, err: error }, 'endpoints file not watched'),
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
    if (!status.isFile()) throw new Error('is not a file');
    if (status.size > FILE_BYTES_MAX) {
      throw new Error(`has ${status.size} bytes, more than ${FILE_BYTES_MAX}`);
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ConfigError(path, [{ path: 'file', message }]);
  }
}
