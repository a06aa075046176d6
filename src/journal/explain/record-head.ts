import type { Endpoint } from '../../framework/endpoint.ts';
import type { Waited } from '../../framework/routing.ts';
import type { DecisionEvent, OtherEndpoints } from '../../picker/events/journal.ts';
import { type ByteLog, type RecordReader, TEXT_MAX } from './bytes.ts';
import { readNumbers, type SlotList, writeNumbers } from './numbers.ts';
import { FIXED_BYTES_MAX, HEAD, NO_SLOT, RECORD_FLAG } from './record-format.ts';
import { readSlots, writeSlots } from './slot-list.ts';

/** What a decision is about, as its record begins. Endpoints by their slots. */
export interface RecordedHead {
  readonly id: string;
  /** Empty where the client and the proxy sent none. */
  readonly requestId: string;
  readonly model: string;
  readonly promptTokens: number;
  /** On the picker's clock. */
  readonly at: number;
  readonly streaming: boolean;
  /** The failures of plugins, cut to `TEXT_MAX` characters; empty where nothing failed. */
  readonly faults: string;
  /** Empty where the profiles did not decide in place of a scheduler. */
  readonly insteadOf: string;
  /** Undefined where the request did not wait. */
  readonly waited: RecordedWait | undefined;
  /** Requests in flight at the pick that were taken for lost. */
  readonly lostRequests: number;
  /** How many others the request could go to, where the candidate was on trial; else 0. */
  readonly besideTrial: number;
  /** Endpoints that were no candidates; undefined for none. */
  readonly leftOut: OtherEndpoints | undefined;
  readonly candidates: Uint16Array;
}

/** How long a request has waited at the picker, and for what. */
export interface RecordedWait {
  /** See `heldMs` of `Waited`; documents have this name. */
  readonly waitedMs: number;
  /** The slot of the endpoint that it has waited for. */
  readonly slot: number | undefined;
  /** Tokens of its prompt that this endpoint was expected to hold. */
  readonly cachedTokens: number;
}

/** What a head is written from beside the event itself. */
interface HeadOptions {
  /** The slots of the candidates. */
  readonly list: SlotList;
  /** Whether these are the candidates of the decision before. */
  readonly sameList: boolean;
  /** Whether nothing is left out that the decision before has, too. */
  readonly inFull: boolean;
}

/** As much as two bytes hold. */
const COUNT_MAX = 65_535;

/** Writes heads one after another, each as what differs from the one before. */
export class HeadWriter {
  readonly #log: ByteLog;
  /** The numbers that were written last. */
  readonly #last: Float64Array;
  readonly #numbers = new Float64Array(HEAD.count);
  #id = '';
  #model = '';
  /** The hashes of our own id and of the client’s, in the head that was written last. */
  idHash = 0;
  requestIdHash = 0;

  constructor(log: ByteLog, last: Float64Array) {
    this.#log = log;
    this.#last = last;
  }

  write(event: DecisionEvent, { list, sameList, inFull }: HeadOptions): void {
    const { request, candidates, decision, faults, lostRequests, besideTrial, leftOut, at } = event;
    const { waited } = event.options;
    const log = this.#log;
    const insteadOf = decision?.insteadOf;
    const hasOthers = besideTrial > 0 || leftOut !== undefined;
    const leavesOutList = sameList && !inFull;
    const sameModel = request.model === this.#model && !inFull;
    this.#model = request.model;
    log.reserve(FIXED_BYTES_MAX + 2 * list.count);
    log.u8(
      (leavesOutList ? RECORD_FLAG.sameList : 0) |
        (sameModel ? RECORD_FLAG.sameModel : 0) |
        (request.streaming ? RECORD_FLAG.streaming : 0) |
        (faults.length > 0 ? RECORD_FLAG.faulty : 0) |
        (insteadOf === undefined ? 0 : RECORD_FLAG.instead) |
        (waited === undefined ? 0 : RECORD_FLAG.waited) |
        (lostRequests > 0 ? RECORD_FLAG.lost : 0) |
        (hasOthers ? RECORD_FLAG.others : 0),
    );
    const shared = inFull ? 0 : sharedLength(request.id, this.#id);
    this.#id = request.id;
    log.u8(shared);
    this.idHash = log.text(request.id, shared);
    this.requestIdHash = log.text(request.headers.get('x-request-id') ?? '');
    if (!sameModel) log.text(request.model);
    if (faults.length > 0) log.text(faults.join('; '));
    if (insteadOf !== undefined) log.text(`${insteadOf.scheduler}: ${insteadOf.reason}`);
    if (waited !== undefined) writeWait(log, waited, candidates);
    if (lostRequests > 0) log.u16(Math.min(lostRequests, COUNT_MAX));
    if (hasOthers) writeOthers(log, besideTrial, leftOut);
    this.#numbers[0] = request.promptTokens;
    this.#numbers[1] = at;
    writeNumbers(log, this.#numbers, HEAD, this.#last);
    if (!leavesOutList) writeSlots(log, list);
  }
}

/** Reads what a `HeadWriter` has written, from the first head of a segment on. */
export class HeadReader {
  readonly #reader: RecordReader;
  /** The numbers that were read last. */
  readonly #last: Float64Array;
  #id = '';
  #model = '';
  #candidates = new Uint16Array(0);

  constructor(reader: RecordReader, last: Float64Array) {
    this.#reader = reader;
    this.#last = last;
  }

  next(): RecordedHead {
    const reader = this.#reader;
    const flags = reader.u8();
    const has = (flag: number): boolean => (flags & flag) !== 0;
    this.#id = this.#id.slice(0, reader.u8()) + reader.text();
    const requestId = reader.text();
    if (!has(RECORD_FLAG.sameModel)) this.#model = reader.text();
    const faults = has(RECORD_FLAG.faulty) ? reader.text() : '';
    const insteadOf = has(RECORD_FLAG.instead) ? reader.text() : '';
    const waited = has(RECORD_FLAG.waited) ? readWait(reader) : undefined;
    const lostRequests = has(RECORD_FLAG.lost) ? reader.u16() : 0;
    const others = has(RECORD_FLAG.others) ? readOthers(reader) : NO_OTHERS;
    readNumbers(reader, HEAD, this.#last);
    const [promptTokens = 0, at = 0] = this.#last;
    if (!has(RECORD_FLAG.sameList)) this.#candidates = readSlots(reader);
    const about = { id: this.#id, requestId, model: this.#model, promptTokens, at };
    const streaming = has(RECORD_FLAG.streaming);
    const why = { faults, insteadOf, waited, lostRequests, ...others };
    return { ...about, streaming, ...why, candidates: this.#candidates };
  }
}

type RecordedOthers = Pick<RecordedHead, 'besideTrial' | 'leftOut'>;

const NO_OTHERS: RecordedOthers = { besideTrial: 0, leftOut: undefined };

function writeOthers(log: ByteLog, besideTrial: number, leftOut: OtherEndpoints | undefined): void {
  const { ejected, late, full } = leftOut ?? { ejected: 0, late: 0, full: 0 };
  for (const count of [besideTrial, ejected, late, full]) log.u16(Math.min(count, COUNT_MAX));
}

function readOthers(reader: RecordReader): RecordedOthers {
  const besideTrial = reader.u16();
  const leftOut = { ejected: reader.u16(), late: reader.u16(), full: reader.u16() };
  return { besideTrial, leftOut: besideTrial > 0 ? undefined : leftOut };
}

function writeWait(
  log: ByteLog,
  { heldMs, endpoint, cachedTokens }: Waited,
  candidates: readonly Endpoint[],
): void {
  log.f64(heldMs);
  log.u16(candidates.find(({ id }) => id === endpoint)?.slot ?? NO_SLOT);
  log.f64(cachedTokens);
}

function readWait(reader: RecordReader): RecordedWait {
  const waitedMs = reader.f64();
  const slot = reader.u16();
  const cachedTokens = reader.f64();
  return { waitedMs, slot: slot === NO_SLOT ? undefined : slot, cachedTokens };
}

/** How many characters both texts begin with. Ids of ours differ in their last characters. */
function sharedLength(text: string, other: string): number {
  const most = Math.min(text.length, other.length, TEXT_MAX);
  let length = 0;
  while (length < most && text.charCodeAt(length) === other.charCodeAt(length)) length += 1;
  return length;
}
