/** What one ext_proc server allows its peers. */
export interface ServerLimits {
  /** A connection that has been open so long is asked for a sign of life; 0 never asks. */
  readonly keepaliveTimeMs: number;
  /** A connection whose peer does not answer that within so long is closed, with its streams. */
  readonly keepaliveTimeoutMs: number;
}

export const DEFAULT_LIMITS: ServerLimits = {
  // A gateway host that vanishes holds its reservations for 20 s at most.
  keepaliveTimeMs: 10_000,
  keepaliveTimeoutMs: 10_000,
};
