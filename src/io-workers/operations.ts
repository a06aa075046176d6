/**
 * What an I/O worker sends about a request that is picked for; behind each, its values in order.
 */
const ABOUT_REQUEST = {
  /**
   * key, request, subset, anywhere, firstTokenVisible, endVisible, scoresWanted: pick for this
   * request.
   */
  route: 0,
  /** key, request, subset, body: what must be known before the pick. `routePrepared` follows. */
  prepare: 1,
  /**
   * key, subset, anywhere, firstTokenVisible, endVisible, scoresWanted: pick for the request that
   * was prepared.
   */
  routePrepared: 2,
  /** key: the client of a request that waits is gone. */
  cancel: 3,
  /** key. */
  firstToken: 4,
  /** key: one of the later pieces of an answer. */
  token: 5,
  /** key: the answer is a stream of events, for which the request does not ask. */
  streams: 6,
  /** key, address. */
  served: 7,
  /** key, request. */
  bodyRead: 8,
  /** key, blocks. */
  answered: 9,
  /** key, waiting, running, KV usage: what the server says with its answer. */
  loadReported: 10,
  /** key, tokens: the server refuses the request as too long. */
  windowReported: 11,
  /** key, outcome, usage, responseBytes, status: the last of a request that was picked for. */
  done: 12,
} as const;

/** What it sends about a request whose trace or line in the access log is written. */
const ABOUT_FOLLOWED = {
  /** id, parent, headers. */
  followed: 13,
  /** id, code, sentence. */
  followedRefused: 14,
  /** id, status: the last of a request that is followed. */
  followedClosed: 15,
} as const;

/** What it reports to be counted or logged. */
const REPORT = {
  /** code, sentence, model, request id, id where it is followed: a request was refused. */
  refused: 16,
  /** message, stack, request id, id where it is followed: an error of ours. */
  fault: 17,
  /** name: a control of a client that was ignored. */
  ignored: 18,
  /** kind, code, from: a client that cannot use the port. */
  clientFault: 19,
  /** seconds. */
  requestProcessed: 20,
  /** seconds. */
  responseProcessed: 21,
  /** seconds, reason. */
  streamClosed: 22,
} as const;

/** All that an I/O worker sends to the thread that decides. */
export const TO_CORE: typeof ABOUT_REQUEST & typeof ABOUT_FOLLOWED & typeof REPORT = {
  ...ABOUT_REQUEST,
  ...ABOUT_FOLLOWED,
  ...REPORT,
};

type OperationGroup = 'request' | 'followed' | 'report';

/** By the number of the operation: it is looked up for each. */
const GROUPS: OperationGroup[] = [];
for (const number of Object.values(ABOUT_REQUEST)) GROUPS[number] = 'request';
for (const number of Object.values(ABOUT_FOLLOWED)) GROUPS[number] = 'followed';
for (const number of Object.values(REPORT)) GROUPS[number] = 'report';

/** What an operation in `TO_CORE` is about; undefined for a number that is no operation. */
export function groupOf(operation: number): OperationGroup | undefined {
  return GROUPS[operation];
}

/** What the deciding thread sends to an I/O worker. */
export const TO_WORKER = {
  /** key, and what `writePlaced` writes. */
  placed: 0,
  /** key, code, sentence: instead of a pick. */
  refused: 1,
  /** key, LocalResponse: the picker itself answers, instead of a pick. */
  answeredHere: 2,
  /** key: what had to be prepared is there. */
  ready: 3,
  /** key, code, sentence: ends the request even after its pick. */
  refuse: 4,
} as const;
