/** In the environment of a command that is to end when the process that started it does, however that ends. */
export const ENDS_WITH_PARENT = 'POINTSMAN_ENDS_WITH_PARENT';

/**
 * Ends this process as SIGTERM would when its parent is gone, if that asked for it: by `ENDS_WITH_PARENT` and a channel, which
 * the system closes when a parent is killed that had no time to see to its children.
 */
export function endWithParent(): void {
  if (process.env[ENDS_WITH_PARENT] === undefined || process.send === undefined) return;
  // What this process starts has no such channel of its own.
  delete process.env[ENDS_WITH_PARENT];
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}
