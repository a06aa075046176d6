/** All of a stream; undefined, and the rest left unread, where it is more than `bytesMax`. */
export async function readBody(
  stream: AsyncIterable<Buffer>,
  bytesMax: number,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
