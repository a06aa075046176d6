/**
 * Runs what takes time for each of many events, one run at a time: however many events come during a
 * run, one more follows it. `run` must not reject.
 */
export function oneAtATime(run: () => Promise<void>): () => void {
  let isRunning = false;
  let isAskedAgain = false;
  const runAll = async (): Promise<void> => {
    do {
      isAskedAgain = false;
      await run();
    } while (isAskedAgain);
    isRunning = false;
  };
  return () => {
    isAskedAgain = isRunning;
    if (isRunning) return;
    isRunning = true;
    void runAll();
  };
}
