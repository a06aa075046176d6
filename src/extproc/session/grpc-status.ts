/**
 * The codes of gRPC that stand for a status of 500 or more, as proxies translate them: unknown,
 * deadline exceeded, unimplemented, internal, unavailable, and data loss.
 */
const SERVER_ERRORS: ReadonlySet<string> = new Set(['2', '4', '12', '13', '14', '15']);

/** Whether a server has failed by gRPC's status of its answer; HTTP's is 200 even so. */
export function isServerFailure(grpcStatus: string | undefined): boolean {
  return grpcStatus !== undefined && SERVER_ERRORS.has(grpcStatus);
}
