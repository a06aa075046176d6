/** The beginning of a sound that is looked at, decoded. */
export const WAV_HEAD_BYTES = 1024;

/** Speech at 2,400 bits a second, the lowest rate that is in use. */
const BYTES_PER_SECOND_MIN = 300;

/**
 * How long a sound in WAV is, by the headers at its beginning; undefined for another format, or a
 * rate that no sound has. `bytes` are those of the whole sound: what was recorded into a pipe says
 * that it has more.
 */
export function wavSeconds(head: Buffer, bytes: number): number | undefined {
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') {
    return undefined;
  }
  let bytesPerSecond = 0;
  for (let at = 12; at + 8 <= head.length; ) {
    const id = head.toString('latin1', at, at + 4);
    const said = head.readUInt32LE(at + 4);
    if (id === 'fmt ' && at + 20 <= head.length) bytesPerSecond = head.readUInt32LE(at + 16);
    if (id === 'data') {
      const there = Math.min(said, Math.max(0, bytes - (at + 8)));
      return bytesPerSecond < BYTES_PER_SECOND_MIN ? undefined : there / bytesPerSecond;
    }
    at += 8 + said + (said % 2);
  }
  return undefined;
}
