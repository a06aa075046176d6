/** Fields of `ResponseFlags` in envoy.data.accesslog.v3. */
export const LOG_FLAG = {
  upstreamRemoteReset: 5,
  upstreamConnectionTermination: 7,
  downstreamConnectionTermination: 15,
  downstreamProtocolError: 19,
  upstreamProtocolError: 24,
  downstreamRemoteReset: 28,
} as const;

export type LogEntry = readonly [requestId: string, flags: readonly number[]];

/** A StreamAccessLogsMessage as Envoy sends it, with some of its other fields. */
export function accessLogBytes(entries: readonly LogEntry[]): Buffer {
  const logged = entries.map(([requestId, flags]) => {
    const set = flags.map((flag) => Buffer.concat([varint(flag << 3), varint(1)]));
    const common = Buffer.concat([
      nested(2, nested(1, text(2, '127.0.0.1'))),
      nested(16, Buffer.concat(set)),
      text(19, 'a route'),
    ]);
    const request = Buffer.concat([text(6, 'an agent'), text(9, requestId)]);
    return nested(
      1,
      Buffer.concat([nested(1, common), nested(3, request), nested(4, Buffer.alloc(0))]),
    );
  });
  return Buffer.concat([nested(1, text(2, 'pointsman')), nested(2, Buffer.concat(logged))]);
}

function text(field: number, value: string): Buffer {
  return nested(field, Buffer.from(value));
}

function nested(field: number, content: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
