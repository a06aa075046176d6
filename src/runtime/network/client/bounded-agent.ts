import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

/** A collector answers a batch with some hundred bytes, or with an error page. */
const ANSWER_BYTES_MAX = 64 * 1024;

/**
 * Ends each connection of this agent whose server sends more for one answer. OpenTelemetry reads
 * 4 MiB, each chunk of a byte as an object of its own, and answers before the answer without end.
 */
export function boundAnswers<T extends Agent>(agent: T): T {
  const create = agent.createConnection.bind(agent);
  agent.createConnection = (...to) => {
    const socket = create(...to);
    if (socket) boundAnswer(socket);
    return socket;
  };
  return agent;
}

function boundAnswer(socket: Duplex): void {
  let bytes = 0;
  socket.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= ANSWER_BYTES_MAX) return;
    socket.destroy(new Error(`it sends more than ${ANSWER_BYTES_MAX} bytes for one answer`));
  });
  // The agent has its answer, and may use the connection for another.
  socket.on('free', () => {
    bytes = 0;
  });
}
