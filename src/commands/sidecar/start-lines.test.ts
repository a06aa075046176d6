import { expect, it } from 'vitest';
import { listedServers } from '../../sidecar/options/allowed-servers.ts';
import { startLines } from '../sidecar-command.ts';

const engine = '127.0.0.1:8200';
const listed = listedServers(['10.0.0.0/16']);

it('[O256] the sidecar says at its start where it forwards requests, and which flags say what else they may name', () => {
  const [heard, open] = startLines({ engine }, ['0.0.0.0:8000']);
  expect(heard).toBe(
    'sidecar: listens on 0.0.0.0:8000, forwards to the decoding server 127.0.0.1:8200',
  );
  expect(open).toContain('give --prefillers and --encoders, or --inference-pool');
  expect(startLines({ engine, prefillers: listed }, [])).toHaveLength(2);
  expect(startLines({ engine, prefillers: listed, encoders: listed }, [])).toHaveLength(1);
  expect(startLines({ engine, inferencePool: 'a/b' }, [])).toHaveLength(1);
});
