import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface FullServer {
  readonly port: number;
  stop(): void;
}

/** A server that listens and never accepts. */
const PROGRAM = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;
/** More than the system keeps for a server with a backlog of 1. */
const CONNECTIONS = 4;

/**
 * A port that does not answer a connection at all, as where packets are lost: the system drops what
 * asks for one more than it keeps for the server.
 */
export async function startFullServer(): Promise<FullServer> {
  const child = spawn(process.execPath, ['-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(text);
  const sockets: Socket[] = [];
  for (let each = 0; each < CONNECTIONS; each++) {
    sockets.push(connect(port, '127.0.0.1').on('error', () => undefined));
  }
  await Promise.race(sockets.map((socket) => once(socket, 'connect')));
  return {
    port,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
    },
  };
}
