import { Presets, SingleBar } from 'cli-progress';
import type { Progress } from './open-loop-options.ts';

/** A bar on stderr where that is a terminal. */
export function createProgress(total: number): {
  readonly update: (progress: Progress) => void;
  readonly stop: () => void;
} {
  if (!process.stderr.isTTY) return { update: () => undefined, stop: () => undefined };
  const format =
    '  [{bar}] {value}/{total} requests, {underWay} under way, {failed} failed, {duration_formatted}';
  const options = { format, stream: process.stderr, hideCursor: true };
  const bar = new SingleBar(options, Presets.shades_classic);
  bar.start(total, 0, { underWay: 0, failed: 0 });
  return {
    update: ({ due, ...rest }) => bar.update(due, rest),
    stop: () => bar.stop(),
  };
}
