import type { SessionOptions } from '../../../src/extproc/session/session.ts';
import { createOpenBody, headerOnlyRequest } from '../../../src/openai/parsers/open-body.ts';
import { reservingRouter } from './reserving-server.ts';

/** Options of sessions whose requests are read and routed at once, and must not fail. */
export const RESERVING_SESSION: SessionOptions = {
  router: reservingRouter(),
  openBody: createOpenBody({ bodyBytesMax: 2 ** 20, hashSeed: 1 }),
  headerOnly: headerOnlyRequest,
  earlyPickBytes: 1000,
  halfCloseAfterPick: false,
  newRequestId: () => 'request',
  onFault: (error: unknown) => {
    throw error;
  },
  onRefused: () => undefined,
};
