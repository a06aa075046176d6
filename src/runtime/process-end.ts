/** Resolves at the first SIGINT or SIGTERM. A second one ends the process at once. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const keepAlive = setInterval(() => undefined, 2 ** 30);
    const onSignal = (signal: NodeJS.Signals): void => {
      clearInterval(keepAlive);
      resolve(signal);
      process.once('SIGINT', () => process.exit(130));
      process.once('SIGTERM', () => process.exit(143));
    };
    process.once('SIGINT', onSignal);
    process.once('SIGTERM', onSignal);
  });
}

/** The environment variable that makes a command end when its parent process ends. */
export const ENDS_WITH_PARENT = 'POINTSMAN_ENDS_WITH_PARENT';

/** Ends this process with a parent that has set `ENDS_WITH_PARENT` and an IPC channel. */
export function endWithParent(): void {
  if (process.env[ENDS_WITH_PARENT] === undefined || process.send === undefined) return;
  // The children of this process have no such channel.
  delete process.env[ENDS_WITH_PARENT];
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
}
