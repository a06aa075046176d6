import { connect } from 'node:net';

/**
 * Sends bytes as they stand and gives back all that comes until the other side closes: for what no HTTP client would send.
 * The request must ask for `connection: close`.
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
