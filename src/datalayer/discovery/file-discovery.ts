import { readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { watch } from 'chokidar';
import type { EndpointPool } from '../endpoint-pool.ts';
import type { Log } from '../log.ts';
import { parseEndpoints } from './parse-endpoints.ts';

export interface FileDiscoveryOptions {
  readonly path: string;
  /** Follow changes, also when the file is replaced by another. */
  readonly watchFile: boolean;
  readonly pool: EndpointPool;
  readonly log: Log;
}

export interface Discovery {
  /** Why the file as it is now could not be used; undefined while all is well. */
  lastError(): string | undefined;
  stop(): Promise<void>;
}

/**
 * Keeps the pool as a file lists it. Throws ConfigError when the file is broken at the start; a file that breaks later
 * leaves the endpoints as they were and says so.
 */
export function startFileDiscovery({
  path,
  watchFile,
  pool,
  log,
}: FileDiscoveryOptions): Discovery {
  const file = resolve(path);
  let lastText: string | undefined;
  let lastError: string | undefined;

  function load(): void {
    const text = readFileSync(file, 'utf8');
    if (text === lastText) return;
    const specs = parseEndpoints(text, path);
    lastText = text;
    const wanted = new Set(specs.map(({ id }) => id));
    for (const { id } of pool.snapshot()) if (!wanted.has(id)) pool.remove(id);
    for (const spec of specs) pool.upsert(spec);
    log.info({ path, endpoints: specs.length }, 'endpoints loaded');
  }

  function reload(): void {
    try {
      load();
      lastError = undefined;
    } catch (error) {
      lastError = error instanceof Error ? error.message : String(error);
      log.error({ path, error: lastError }, 'endpoints file not usable, the last good one stays');
    }
  }

  load();
  if (!watchFile) return { lastError: () => lastError, stop: () => Promise.resolve() };
  // The folder, not the file: an atomic replacement is another file under the same name, and a mounted ConfigMap
  // changes by a link beside it.
  const watcher = watch(dirname(file), { depth: 0, ignoreInitial: true });
  watcher.on('all', (_event, changed) => {
    if (basename(changed) === basename(file) || basename(changed).startsWith('..')) reload();
  });
  // What changed between the first read and the watch being set.
  watcher.on('ready', reload);
  return { lastError: () => lastError, stop: () => watcher.close() };
}
