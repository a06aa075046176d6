import { afterEach, describe, expect, it } from 'vitest';
import {
  eventually,
  inFlightAt,
  type Stack,
  type StackOptions,
  serveOptions,
} from '../../bench/support/stack.ts';
import { startServe } from '../../src/serve/serve.ts';
import {
  type AnswersBed,
  CLOSES,
  ejectedWhileSomeLeave,
  IS_LEFT,
  RESETS,
  SENDS_NO_CHUNK,
  startAnswersBed,
  WHOLE,
} from '../support/answers-bed.ts';
import { gatewayBefore } from '../support/servers/gateway-before.ts';

/** As broken-answer-envoy.test.ts, behind the embedded gateway. */

async function startStack({
  endpoints,
  config,
}: Required<Pick<StackOptions, 'endpoints' | 'config'>>): Promise<Stack> {
  const serving = await startServe(serveOptions({ endpoints }, config));
  const gateway = await gatewayBefore(serving.extProcPort);
  return {
    url: `http://127.0.0.1:${gateway.port}`,
    serving,
    inFlight: () => inFlightAt(serving.metricsPort),
    stop: async () => {
      await gateway.stop();
      await serving.stop();
    },
  };
}

describe('behind the embedded gateway, a server whose answers break off', () => {
  let bed: AnswersBed | undefined;
  afterEach(() => bed?.stop());

  it.each([
    ['resets its connections', RESETS],
    ['closes its connections', CLOSES],
    ['breaks the rules of HTTP', SENDS_NO_CHUNK],
  ] as const)(
    '[V498] because it %s is ejected, and one that clients leave is not',
    async (_, way) => {
      bed = await startAnswersBed([WHOLE, WHOLE, way, IS_LEFT], startStack);
      expect(await ejectedWhileSomeLeave(bed)).toEqual([bed.addresses[2]]);
      await eventually(
        () => bed?.inFlight() ?? Promise.resolve(0),
        (requests) => requests === 0,
      );
    },
    60_000,
  );
});
