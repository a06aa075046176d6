import { resolve } from 'node:path';
import { fileFault } from '../../../files/file-fault.ts';
import { oneAtATime } from '../../../files/following/one-at-a-time.ts';
import { readFollowed } from '../../../files/following/read-followed.ts';
import { isSystemFault } from '../../../files/following/system-fault.ts';
import { watchFile } from '../../../files/following/watch-file.ts';
import { readAside } from '../../../files/reading/read-thread.ts';
import { ConfigError, messageOf } from '../../../framework/error.ts';
import type { EndpointSink } from '../../../picker/pool/endpoint-pool.ts';
import { TimeSlices } from '../../../runtime/clock/time-slices.ts';
import type { Log } from '../../../runtime/log/log.ts';
import type { RequestRules } from '../../rewrites/request-rules.ts';
import { AppliedList } from './applied-list.ts';
import { type EndpointsList, FILE_BYTES_MAX, parseEndpoints } from './parse-endpoints.ts';

interface FileDiscoveryOptions {
  readonly path: string;
  readonly watchFile: boolean;
  readonly pool: EndpointSink;
  readonly rules?: Pick<RequestRules, 'setObjectives' | 'setRewrites'> | undefined;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** For tests; slices of a millisecond by default. */
  readonly slices?: Pick<TimeSlices, 'isOver' | 'next'>;
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
        onChange: oneAtATime(() => file.reload()),
        onError: (error) => {
          log.warn(
            { path, error: messageOf(error) },
            'the endpoints file cannot be watched; it is looked at once a second',
          );
        },
      })
    : undefined;
  return {
    ready: watch?.ready ?? Promise.resolve(),
    lastError: () => file.lastError,
    stop: () => {
      file.stop();
      return watch?.stop() ?? Promise.resolve();
    },
  };
}

const ENDPOINTS_THREAD = 'src/endpoints/discovery/file/endpoints-thread';

class EndpointsFile {
  readonly #file: string;
  readonly #options: FileDiscoveryOptions;
  readonly #applied: AppliedList;
  #lastText: string | undefined;
  #isStopped = false;
  lastError: string | undefined;

  constructor(file: string, options: FileDiscoveryOptions) {
    this.#file = file;
    this.#options = options;
    this.#applied = new AppliedList(options.pool);
  }

  /** Throws ConfigError. */
  load(): void {
    const { path } = this.#options;
    const text = readText(this.#file, path);
    const listed = parseEndpoints(text, path);
    for (const _step of this.#applied.change(listed.endpoints));
    this.#isApplied(text, listed, 0);
  }

  /** Logs an error and changes nothing where the file cannot be used. */
  async reload(): Promise<'again' | 'done'> {
    const { path } = this.#options;
    try {
      const text = readText(this.#file, path);
      if (text === this.#lastText) {
        this.#isUnchanged();
        return 'done';
      }
      const listed = await readAside(ENDPOINTS_THREAD, parseEndpoints, { text, source: path });
      await this.#apply(text, listed);
      return 'done';
    } catch (error) {
      if (this.#isStopped) return 'done';
      this.#refuse(messageOf(error));
      return isSystemFault(error) ? 'again' : 'done';
    }
  }

  #refuse(reason: string): void {
    const { path, log } = this.#options;
    // One change causes several events.
    if (reason === this.lastError) return;
    this.lastError = reason;
    log.error(
      { path, error: reason, endpoints: this.#applied.size },
      'the endpoints file is invalid; the last valid list stays',
    );
  }

  stop(): void {
    this.#isStopped = true;
  }

  #isUnchanged(): void {
    if (this.lastError === undefined) return;
    const { path, log } = this.#options;
    const fields = { path, endpoints: this.#applied.size };
    log.info(fields, 'the endpoints file is valid again and unchanged');
    this.lastError = undefined;
  }

  /** In slices: thousands of endpoints take longer than a request should wait for its decision. */
  async #apply(text: string, listed: EndpointsList): Promise<void> {
    const { slices = new TimeSlices() } = this.#options;
    const before = this.#applied.size;
    for (const _step of this.#applied.change(listed.endpoints)) {
      if (slices.isOver) await slices.next();
      if (this.#isStopped) return;
    }
    if (!this.#isStopped) this.#isApplied(text, listed, before);
  }

  #isApplied(text: string, { priorities, rewrites }: EndpointsList, before: number): void {
    const { path, rules, log } = this.#options;
    rules?.setObjectives(priorities);
    rules?.setRewrites(rewrites);
    this.#lastText = text;
    this.lastError = undefined;
    const { size: endpoints } = this.#applied;
    log.info({ path, endpoints, endpointsBefore: before }, 'endpoints loaded');
    if (endpoints >= before / 2) return;
    log.warn(
      { path, endpoints, endpointsBefore: before },
      'the endpoints file lists fewer than half of the endpoints before: if it was still being ' +
        'written, write the next one under another name, and rename it',
    );
  }
}

function readText(file: string, path: string): string {
  try {
    return readFollowed(file, FILE_BYTES_MAX).toString('utf8');
  } catch (error) {
    const message = fileFault(error);
    throw new ConfigError(path, [{ path: 'file', message }], { cause: error });
  }
}
