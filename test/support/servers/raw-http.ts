import { connect } from 'node:net';

/**
 * Sends exactly these bytes and returns all bytes until the other side closes, for requests that no
 * HTTP client would send. The request must have `connection: close`.
 */
export function sendRaw(url: string, pieces: readonly string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => {
      for (const piece of pieces) socket.write(piece, 'latin1');
    });
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}
