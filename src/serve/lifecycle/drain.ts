import type { ExtProcServer } from '../../extproc/server/ext-proc-server.ts';
import type { Readiness } from '../admin/admin-routes.ts';
import type { DrainOptions } from '../options/serve-options.ts';

/**
 * Takes the picker out of service: first it is not ready, then it takes no new requests, and at
 * last it cuts those that are left.
 */
export class Drain {
  readonly #options: DrainOptions;
  readonly #server: Pick<ExtProcServer, 'drain' | 'sessions'>;
  #begun = false;

  constructor(options: DrainOptions, server: Pick<ExtProcServer, 'drain' | 'sessions'>) {
    this.#options = options;
    this.#server = server;
  }

  /** What `/readyz` answers once the drain has begun; undefined before. */
  get readiness(): Readiness | undefined {
    if (!this.#begun) return undefined;
    const detail = { draining: true, openStreams: this.#server.sessions() };
    return { ok: false, state: 'not ready', reasons: ['the picker is draining'], detail };
  }

  /** `notice`: new requests are accepted until gateways must have noticed. */
  run({ notice }: { readonly notice: boolean }): Promise<void> {
    this.#begun = true;
    const { drainNoticeMs, drainTimeoutMs } = this.#options;
    const noticeMs = notice ? drainNoticeMs : 0;
    return this.#server.drain({ noticeMs, deadlineMs: drainTimeoutMs });
  }
}
