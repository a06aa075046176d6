import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ListenError, listen } from './listen.ts';

it('[O417] says of a port that a connection has that it may be a connection', async () => {
  const server = createServer();
  const connection = connect(await listen(server, '127.0.0.1', 0), '127.0.0.1');
  onTestFinished(() => {
    connection.destroy();
    server.close();
  });
  await once(connection, 'connect');
  const port = connection.localPort ?? 0;
  const refused = listen(createServer(), '127.0.0.1', port);
  await expect(refused).rejects.toThrow(ListenError);
  await expect(refused).rejects.toThrow(
    `cannot listen on 127.0.0.1:${port}: the port is taken: another process listens there already, or has a connection from it`,
  );
});
