import { RoutingError } from '../../framework/error.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { OpenStreams } from '../streams/open-streams.ts';
import type { Listener } from './port/listener.ts';

/** Time for the last answers to leave before connections are closed. */
const LAST_ANSWERS_MS = 200;

export interface ShutDownOptions {
  /** Open streams have so long to end; those that have not are refused or cut then. */
  readonly deadlineMs: Millis;
  /** Resolves once no stream is open. */
  readonly idle: Promise<void>;
  readonly streams: Pick<OpenStreams, 'forEachNewest'>;
  readonly clock: Clock;
}

/** Does not wait for clients that watch health: they keep their connections. */
export async function shutDown(
  listener: Listener,
  { deadlineMs, idle, streams, clock }: ShutDownOptions,
): Promise<void> {
  const closed = listener.close();
  const cut = (): void => listener.cut();
  const cutSoon = (): void => void setTimeout(cut, Math.min(LAST_ANSWERS_MS, deadlineMs));
  const end = (): void => {
    refuseUnanswered(streams);
    cutSoon();
  };
  const deadline = deadlineMs > 0 ? clock.setTimer(deadlineMs, end) : undefined;
  if (deadline === undefined) end();
  void idle.then(cutSoon);
  await closed;
  deadline?.cancel();
}

/**
 * A stream that is cut gives the client an empty answer; one that is refused says why, and when to
 * try again. Only what has begun to answer cannot be refused any more.
 */
function refuseUnanswered(streams: Pick<OpenStreams, 'forEachNewest'>): void {
  const error = new RoutingError(
    'shutting-down',
    'this picker ends, and the request had no answer in time: try again',
  );
  streams.forEachNewest(({ owner }) => {
    if (owner.phase !== 'answering') owner.refuse(error);
  });
}
