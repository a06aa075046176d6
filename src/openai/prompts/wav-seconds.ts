/** The beginning of a sound that is looked at, decoded. */
export const WAV_HEAD_BYTES = 1024;

/** How long a sound in WAV is, by the headers at its beginning; undefined for another format. */
export function wavSeconds(head: Buffer): number | undefined {
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') {
    return undefined;
  }
  let bytesPerSecond = 0;
  for (let at = 12; at + 8 <= head.length; ) {
    const id = head.toString('latin1', at, at + 4);
    const bytes = head.readUInt32LE(at + 4);
    if (id === 'fmt ' && at + 20 <= head.length) bytesPerSecond = head.readUInt32LE(at + 16);
    if (id === 'data') return bytesPerSecond > 0 ? bytes / bytesPerSecond : undefined;
    at += 8 + bytes + (bytes % 2);
  }
  return undefined;
}
