import type { Millis } from '../framework/runtime.ts';
import { type Entry, readEntry } from './entries.ts';
import { ENTRIES_MAX, readTexts, readTime } from './message.ts';
import { type ByteReader, WireError } from './wire.ts';

/**
 * What a message says has happened, and the time here from which its times count. All entries are
 * read before one is applied: a message is applied whole or not at all. Throws WireError.
 */
export function readEntries(
  reader: ByteReader,
  now: Millis,
): { readonly origin: Millis; readonly entries: readonly Entry[] } {
  const origin = now - readTime(reader);
  const texts = readTexts(reader);
  const entries: Entry[] = [];
  for (let count = 0; reader.left > 0; count++) {
    if (count >= ENTRIES_MAX) throw new WireError(`a message has more than ${ENTRIES_MAX} entries`);
    const entry = readEntry(reader, texts);
    if (entry !== undefined) entries.push(entry);
  }
  return { origin, entries };
}
