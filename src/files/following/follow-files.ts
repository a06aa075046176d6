import { watchFile } from './watch-file.ts';

interface Follower {
  /** Called at each change of a file; it may throw. */
  readonly take: () => void;
  /** `take` has thrown. */
  readonly onRefused: (error: unknown) => void;
  readonly onUnwatched: (error: unknown, path: string) => void;
}

/** Follows files that are read together, such as a certificate and its key. */
export function followFiles(
  paths: readonly string[],
  { take, onRefused, onUnwatched }: Follower,
): { stop(): Promise<void> } {
  const onChange = (): void => {
    try {
      take();
    } catch (error) {
      onRefused(error);
    }
  };
  const watches = paths.map((path) =>
    watchFile(path, { onChange, onError: (error) => onUnwatched(error, path) }),
  );
  return { stop: async () => void (await Promise.all(watches.map((watch) => watch.stop()))) };
}
