import { resolve } from 'node:path';
import { readFollowed } from '../../../files/read-followed.ts';
import { watchFile } from '../../../files/watch-file.ts';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { ConfigError, messageOf } from '../../../framework/error.ts';
import type { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import type { Log } from '../../../runtime/log/log.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { FILE_BYTES_MAX, parseEndpoints } from './parse-endpoints.ts';

interface FileDiscoveryOptions {
  readonly path: string;
  readonly watchFile: boolean;
  readonly pool: Pick<EndpointPool, 'upsert' | 'remove'>;
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

/** Throws ConfigError for an invalid file; later errors are logged, and the endpoints stay. */
export function startFileDiscovery(options: FileDiscoveryOptions): Discovery {
  const { watchFile: followed, log } = options;
  const path = resolve(options.path);
  const file = new EndpointsFile(path, options);
  file.load();
  const watch = followed
    ? watchFile(path, {
        onChange: () => file.reload(),
        onError: (error) => {
          log.error({ path, err: error }, 'the endpoints file cannot be watched for changes');
        },
      })
    : undefined;
  return {
    ready: watch?.ready ?? Promise.resolve(),
    lastError: () => file.lastError,
    stop: () => watch?.stop() ?? Promise.resolve(),
  };
}

class EndpointsFile {
  readonly #file: string;
  readonly #options: FileDiscoveryOptions;
  #applied: ReadonlySet<EndpointId> = new Set();
  #lastText: string | undefined;
  lastError: string | undefined;

  constructor(file: string, options: FileDiscoveryOptions) {
    this.#file = file;
    this.#options = options;
  }

  load(): void {
    const { path, pool, rules, log } = this.#options;
    const text = readText(this.#file, path);
    if (text !== this.#lastText) {
      const { endpoints: specs, priorities, rewrites } = parseEndpoints(text, path);
      this.#lastText = text;
      const wanted = new Set(specs.map(({ id }) => id));
      for (const id of this.#applied) if (!wanted.has(id)) pool.remove(id);
      for (const spec of specs) pool.upsert(spec);
      rules?.setObjectives(priorities);
      rules?.setRewrites(rewrites);
      this.#applied = wanted;
      log.info({ path, endpoints: specs.length }, 'endpoints loaded');
    } else if (this.lastError !== undefined) {
      const fields = { path, endpoints: this.#applied.size };
      log.info(fields, 'the endpoints file is valid again and unchanged');
    }
    this.lastError = undefined;
  }

  /** Logs an error and changes nothing where the file cannot be used. */
  reload(): void {
    try {
      this.load();
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      // One change causes several events.
      if (error.message === this.lastError) return;
      this.lastError = error.message;
      const { path, log } = this.#options;
      log.error(
        { path, error: this.lastError, endpoints: this.#applied.size },
        'the endpoints file is invalid; the last valid list stays',
      );
    }
  }
}

function readText(file: string, path: string): string {
  try {
    return readFollowed(file, FILE_BYTES_MAX).toString('utf8');
  } catch (error) {
    const message = messageOf(error);
    throw new ConfigError(path, [{ path: 'file', message }]);
  }
}
