import type { Server } from '@grpc/grpc-js';

/** Time for the last answers to leave before connections are closed. */
const LAST_ANSWERS_MS = 200;

/** Does not wait for clients that watch health: they keep their connections. */
export function shutDown(
  server: Server,
  { deadlineMs, idle }: { readonly deadlineMs: number; readonly idle: Promise<void> },
): Promise<void> {
  return new Promise((resolve) => {
    const force = (): void => {
      clearTimeout(deadline);
      server.forceShutdown();
      resolve();
    };
    const deadline = setTimeout(force, deadlineMs);
    void idle.then(() => setTimeout(force, Math.min(LAST_ANSWERS_MS, deadlineMs)));
    server.tryShutdown(() => {
      clearTimeout(deadline);
      resolve();
    });
  });
}
