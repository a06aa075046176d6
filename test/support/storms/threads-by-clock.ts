import type { Router } from '../../../src/framework/routing.ts';
import type { Clock } from '../../../src/framework/runtime.ts';
import type { Batch } from '../../../src/io-workers/batch.ts';
import { CoreLink } from '../../../src/io-workers/core-link.ts';
import { RemoteRouter } from '../../../src/io-workers/remote-router.ts';
import { type SendBatch, TurnOutbox } from '../../../src/io-workers/turn-outbox.ts';

/**
 * The router of sessions in another thread than this one, without threads: messages take as long as
 * the clock says, and arrive in their order.
 */
export function threadsByClock(
  router: Router,
  clock: Clock,
  onFault: (error: unknown) => void,
): RemoteRouter {
  const afterTurn = (task: () => void): void => void clock.setTimer(0, task);
  const sending = (receive: (batch: Batch) => void): SendBatch => {
    const sent: Batch[] = [];
    return (batch, moved) => {
      sent.push(structuredClone(batch, { transfer: [...moved] }));
      clock.setTimer(0.05, () => {
        const first = sent.shift();
        if (first !== undefined) receive(first);
      });
    };
  };
  const toCore = new TurnOutbox(
    sending((batch) => core.receive(batch)),
    afterTurn,
  );
  const worker = new RemoteRouter(toCore, () => undefined);
  const core = new CoreLink(
    {
      router,
      identified: (request) => request,
      placedOptions: () => ({ withLabels: false, withScores: false }),
      onFault,
      onRefused: () => undefined,
      onIgnored: () => undefined,
      onClientFault: () => undefined,
    },
    new TurnOutbox(sending(worker.receive), afterTurn),
  );
  return worker;
}
