import type { ReplicaLink } from '../../src/replicas/links/link.ts';
import { writeHead } from '../../src/replicas/messages/message.ts';
import { ByteWriter } from '../../src/replicas/messages/wire.ts';

interface Said {
  readonly kind: number;
  readonly id: string;
  readonly sequence: number;
  readonly boot?: number;
}

/** The bytes of a message, with what `write` adds to its head. */
export function messageOf(
  { kind, id, sequence, boot = 1 }: Said,
  write: (writer: ByteWriter) => void = () => undefined,
): Uint8Array {
  const writer = new ByteWriter();
  writeHead(writer, { kind, id, boot, sequence, sentAt: 0 });
  write(writer);
  return writer.view().slice();
}

/** A link that sends nothing and takes all. */
export const IDLE_LINK: ReplicaLink = {
  send: () => true,
  pause: () => undefined,
  resume: () => undefined,
  close: () => Promise.resolve(),
};
