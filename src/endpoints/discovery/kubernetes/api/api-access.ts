import type { Dispatcher } from 'undici';

/** How an API server is reached: as a kubeconfig says, or as the service account of a pod. */
export interface ApiAccess {
  /** Its URL, such as `https://10.96.0.1:443`. */
  readonly server: string;
  /** What the requests of one connection have. Read anew each time: tokens and authorities change. */
  credentials(): Promise<ApiCredentials>;
}

export interface ApiCredentials {
  readonly headers: Readonly<Record<string, string>>;
  /** The connection has it alone, and ends it. Undefined: it needs none of its own. */
  readonly dispatcher: Dispatcher | undefined;
}
