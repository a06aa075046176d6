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

/** Errors that follow the first one are reported up to this number: each may follow the last. */
const UNCAUGHT_REPORTED_MAX = 20;

/**
 * Resolves at the first error that nothing has caught, thrown or as a rejected promise. From this
 * call on, such errors do not end the process, so that it can end in order. `report` is called for
 * each of the first 20.
 */
export function untilUncaught(report: (error: unknown) => void): Promise<'uncaught'> {
  let seen = 0;
  return new Promise((resolve) => {
    const onError = (error: unknown): void => {
      seen += 1;
      if (seen <= UNCAUGHT_REPORTED_MAX) report(error);
      resolve('uncaught');
    };
    process.on('uncaughtException', onError);
    process.on('unhandledRejection', onError);
  });
}

/** Ends the process with this code, if it has not ended by itself after `delayMs`. */
export function exitAtLatest(delayMs: number, exitCode: number): void {
  setTimeout(() => process.exit(exitCode), delayMs).unref();
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
