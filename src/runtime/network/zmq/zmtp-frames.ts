/** What is written to a ZMQ peer: ZMTP 3.0, which every libzmq since 4.0 speaks. */

const LONG = 2;
const COMMAND = 4;

/** The first bytes of a connection. */
export function greetingBytes(mechanism: string, side: 'client' | 'server'): Uint8Array {
  const version = Buffer.from([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0]);
  const name = Buffer.from(mechanism.padEnd(20, '\0'));
  return Buffer.concat([version, name, Buffer.of(side === 'server' ? 1 : 0), Buffer.alloc(31)]);
}

/** The frames of one message. */
export function messageBytes(frames: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(
    frames.map((frame, at) => frameBytes(at + 1 < frames.length ? 1 : 0, frame)),
  );
}

export function commandBytes(body: Uint8Array): Uint8Array {
  return frameBytes(COMMAND, body);
}

/** What stands in the frame of a command. */
export function commandBody(name: string, data: Uint8Array): Uint8Array {
  return Buffer.concat([shortText(name), data]);
}

/** Says the type of a socket. */
export function metadataBytes(kind: 'subscriber' | 'dealer'): Uint8Array {
  const type = Buffer.from(kind === 'subscriber' ? 'SUB' : 'DEALER');
  return Buffer.concat([shortText('Socket-Type'), Buffer.from([0, 0, 0, type.length]), type]);
}

/** The name and the rest of what stands in the frame of a command. */
export function readCommand(body: Uint8Array): { name: string; data: Uint8Array } {
  const behind = 1 + (body[0] ?? 0);
  return {
    name: Buffer.from(body.subarray(1, behind)).toString('latin1'),
    data: body.subarray(behind),
  };
}

function shortText(text: string): Uint8Array {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
}

function frameBytes(flags: number, body: Uint8Array): Uint8Array {
  if (body.length < 256) return Buffer.concat([Buffer.of(flags, body.length), body]);
  const head = Buffer.alloc(9);
  head[0] = flags | LONG;
  head.writeBigUInt64BE(BigInt(body.length), 1);
  return Buffer.concat([head, body]);
}
