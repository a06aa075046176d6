import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { ENTRIES_MAX, MESSAGE_BYTES_MAX, TextTable, writeTime } from '../messages/message.ts';
import { ByteWriter } from '../messages/wire.ts';
import { writeChange, writeRouted } from '../messages/write-entries.ts';

/** A request of this picker that has not ended. */
export interface OpenRequest {
  readonly routed: Routed;
  firstTokenAt: Millis | undefined;
  served: string | undefined;
  /** Its place among those of which nothing is written yet; undefined once it is written. */
  freshAt: number | undefined;
}

export function newOpenRequest(routed: Routed): OpenRequest {
  return { routed, firstTokenAt: undefined, served: undefined, freshAt: undefined };
}

/** An open request has at most so many entries. */
const OPEN_ENTRIES = 3;
const REQUESTS_MAX = Math.floor(ENTRIES_MAX / OPEN_ENTRIES);
/** One open request is shorter: its texts are counted apart. */
const OPEN_ENTRY_BYTES_MAX = 4096;
const ENTRIES_BYTES_MAX = MESSAGE_BYTES_MAX / 2 - OPEN_ENTRY_BYTES_MAX;

interface About {
  /** Above the numbers of all requests so far: what comes later may arrive before this does. */
  readonly end: number;
  readonly now: Millis;
  readonly uptimeMs: Millis;
  readonly heldBlocks: number;
}

/**
 * Writes the open requests, which come in the order of their numbers, in ranges that fit into
 * messages.
 */
export function writeOpen(
  open: readonly OpenRequest[],
  { end, now, uptimeMs, heldBlocks }: About,
  send: (write: (writer: ByteWriter) => void) => void,
): void {
  const [oldest] = open;
  const origin = oldest?.routed.at ?? now;
  const texts = new TextTable();
  const entries = new ByteWriter();
  let from = 0;
  let last = 0;
  let requests = 0;
  const sendRange = (rangeEnd: number): void => {
    send((writer) => {
      for (const value of [from, rangeEnd, uptimeMs, heldBlocks]) writer.number(value);
      writeTime(writer, now - origin);
      texts.write(writer);
      writer.bytes(entries.view());
    });
    from = rangeEnd;
    requests = 0;
    entries.clear();
    texts.clear();
  };
  for (const request of open) {
    const isFull = entries.length > ENTRIES_BYTES_MAX || texts.isFull || requests >= REQUESTS_MAX;
    if (isFull) sendRange(last + 1);
    writeRequest(entries, texts, { request, origin, now });
    requests += 1;
    last = request.routed.number;
  }
  sendRange(end);
}

function writeRequest(
  entries: ByteWriter,
  texts: TextTable,
  { request, origin, now }: { request: OpenRequest; origin: Millis; now: Millis },
): void {
  const { routed, firstTokenAt, served: address } = request;
  const { number } = routed;
  writeRouted(entries, texts, { routed, afterMs: routed.at - origin, blocks: 0 });
  if (firstTokenAt !== undefined) {
    const afterMs = firstTokenAt - origin;
    writeChange(entries, texts, { kind: 'first-token', number, afterMs, address: '' });
  }
  if (address !== undefined)
    writeChange(entries, texts, { kind: 'served', number, afterMs: now - origin, address });
}
