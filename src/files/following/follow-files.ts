import { messageOf } from '../../framework/error.ts';
import { isSystemFault } from './system-fault.ts';
import { watchFile } from './watch-file.ts';

// An `import` reads all exports of `node:util`, for which Node loads a part of its assertions.
const { isDeepStrictEqual } = process.getBuiltinModule('node:util');

interface Follower<Content> {
  /** What is in use at first. */
  readonly first: Content;
  /** Reads all files anew; throws where they cannot be used. */
  readonly read: () => Content;
  /** Called with each content that differs from the one in use; it may throw. */
  readonly use: (content: Content) => void;
  /** The files cannot be used. Called once for each reason in succession. */
  readonly onRefused: (reason: string) => void;
  readonly onUnwatched: (error: unknown, path: string) => void;
}

/** Files that are followed. */
export interface Following {
  /** Why the present content was refused; undefined where it is in use. */
  readonly lastError: () => string | undefined;
  stop(): Promise<void>;
}

/** How long after the system has failed the files are read once more. */
const AGAIN_MS = 1000;

/**
 * Follows files that are read together, such as a certificate and its key. One change causes several
 * events, of which the first that finds it counts.
 */
export function followFiles<Content>(
  paths: readonly string[],
  { first, read, use, onRefused, onUnwatched }: Follower<Content>,
): Following {
  let used = first;
  let refused: string | undefined;
  let again: NodeJS.Timeout | undefined;
  const onChange = (): void => {
    clearTimeout(again);
    try {
      const content = read();
      if (!isDeepStrictEqual(content, used)) use(content);
      used = content;
      refused = undefined;
    } catch (error) {
      if (isSystemFault(error)) again = setTimeout(onChange, AGAIN_MS).unref();
      const reason = messageOf(error);
      if (reason === refused) return;
      refused = reason;
      onRefused(reason);
    }
  };
  const watches = paths.map((path) =>
    watchFile(path, { onChange, onError: (error) => onUnwatched(error, path) }),
  );
  return {
    lastError: () => refused,
    stop: async () => {
      clearTimeout(again);
      await Promise.all(watches.map((watch) => watch.stop()));
    },
  };
}
