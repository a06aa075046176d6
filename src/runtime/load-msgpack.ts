import { createRequire } from 'node:module';
import type * as MessagePack from '@msgpack/msgpack';

/** A reader of MessagePack. The library is loaded here: few pickers read KV events. */
export function createDecoder(options: MessagePack.DecoderOptions): MessagePack.Decoder {
  const library = createRequire(import.meta.url)('@msgpack/msgpack') as typeof MessagePack;
  return new library.Decoder(options);
}
