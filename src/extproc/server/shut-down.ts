import type { Listener } from './listener.ts';

/** Time for the last answers to leave before connections are closed. */
const LAST_ANSWERS_MS = 200;

/** Does not wait for clients that watch health: they keep their connections. */
export async function shutDown(
  listener: Listener,
  { deadlineMs, idle }: { readonly deadlineMs: number; readonly idle: Promise<void> },
): Promise<void> {
  const closed = listener.close();
  const deadline = setTimeout(() => listener.cut(), deadlineMs);
  void idle.then(() => setTimeout(() => listener.cut(), Math.min(LAST_ANSWERS_MS, deadlineMs)));
  await closed;
  clearTimeout(deadline);
}
