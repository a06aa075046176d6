import {
  MESSAGE_KIND,
  readHead,
  TextTable,
  writeHead,
} from '../../../src/replicas/messages/message.ts';
import { readEntries } from '../../../src/replicas/messages/read-entries.ts';
import { ByteReader, ByteWriter, WireError } from '../../../src/replicas/messages/wire.ts';
import {
  writeChange,
  writePrompt,
  writeRouted,
} from '../../../src/replicas/messages/write-entries.ts';
import { makeEndpoint, makeRequest, makeRouted } from '../../makers.ts';
import { expected, type FuzzTarget, promise } from '../target.ts';

const NOW = 1000;
const WORDS = Uint32Array.from({ length: 8 }, (_, at) => at);
const PROMPT = { count: 3, blockTokens: 64, words: WORDS, hasRest: true } as const;
const KNOWN = { count: 0, blockTokens: 64, words: new Uint32Array(0) };

/** A batch, as a replica sends it. */
function message(write: (writer: ByteWriter, texts: TextTable) => void): Uint8Array {
  const [entries, texts, whole] = [new ByteWriter(), new TextTable(), new ByteWriter()];
  write(entries, texts);
  writeHead(whole, { kind: MESSAGE_KIND.batch, id: 'other', boot: 7, sequence: 1, sentAt: 5 });
  whole.number(20);
  texts.write(whole);
  whole.bytes(entries.view());
  return whole.view().slice();
}

const request = makeRequest({ prompt: PROMPT, priority: -2, objective: 'o', promptTokens: 200 });
const routed = makeRouted(makeEndpoint('a'), { request, prefill: makeEndpoint('p') });

/** What another replica sends: a message whose numbers are bounded, or a WireError. */
export const replicaMessages: FuzzTarget = {
  name: 'replica-messages',
  seeds: [
    message((writer, texts) => writeRouted(writer, texts, { routed, afterMs: 5, blocks: 9 })),
    message((writer, texts) => {
      writeChange(writer, texts, { kind: 'first-token', number: 1, afterMs: 3, address: '' });
      writeChange(writer, texts, { kind: 'served', number: 1, afterMs: 3, address: 'a:1' });
      const about = { number: 1, promptTokens: 9, prompt: PROMPT, known: KNOWN };
      writePrompt(writer, { kind: 'body-read', ...about });
      writePrompt(writer, { kind: 'answered', ...about });
    }),
  ],
  words: ['\xff\xff\xff\xff\xff\xff\xff\x7f', '\x00', '\x80\x80\x80', '\x50\x01\x01', '\x05other'],
  run: (input) => {
    try {
      const reader = new ByteReader(input);
      const { kind } = readHead(reader);
      const { origin, entries } = readEntries(reader, NOW);
      promise(origin <= NOW, () => `the message is from ${origin}`);
      for (const entry of entries) {
        const numbers = Object.values(entry).filter((value) => typeof value === 'number');
        promise(numbers.every(Number.isSafeInteger) || 'afterMs' in entry, () => numbers.join());
        promise(numbers.every(Number.isFinite), () => numbers.join());
      }
      return `${kind} ${entries
        .slice(0, 3)
        .map((entry) => entry.kind)
        .join()}`;
    } catch (error) {
      return expected(error, WireError);
    }
  },
};
