/**
 * The codes of gRPC that only a server can cause: unknown, internal, unavailable and data loss. A
 * client chooses the method and the deadline, so that it could have servers ejected by codes 12
 * (unimplemented) and 4 (deadline exceeded).
 */
const SERVER_ERRORS: ReadonlySet<string> = new Set(['2', '13', '14', '15']);

/** Whether a server has failed by gRPC's status of its answer; HTTP's is 200 even so. */
export function isServerFailure(grpcStatus: string | undefined): boolean {
  return grpcStatus !== undefined && SERVER_ERRORS.has(grpcStatus);
}
